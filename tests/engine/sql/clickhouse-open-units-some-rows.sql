SELECT
  *
FROM (
  SELECT
    COUNT(*) AS "onesided_length",
    COALESCE(SUM(CASE WHEN isNull("t1"."c0") THEN 1 ELSE 0 END), 0) AS "onesided_lost"
  FROM (
    SELECT
      "t0"."person" AS "c0"
    FROM "visits" AS "t0"
  ) AS "t1"
) AS "t2";

SELECT
  *
FROM (
  SELECT
    COUNT(*) AS "onesided_length",
    COALESCE(SUM(CASE WHEN isNull("t1"."c0") THEN 1 ELSE 0 END), 0) AS "onesided_lost"
  FROM (
    SELECT
      "t0"."person" AS "c0",
      "t0"."place" AS "c1",
      "t0"."age" AS "c2"
    FROM "visits" AS "t0"
  ) AS "t1"
) AS "t2";

SELECT
  *
FROM (
  SELECT
    "t19"."onesided_code" AS "onesided_code",
    COUNT(*) AS "onesided_length"
  FROM (
    SELECT
      "t18"."c0" AS "c0",
      "t18"."onesided_code" AS "onesided_code"
    FROM (
      SELECT
        "t17"."c0" AS "c0",
        "t17"."onesided_code" AS "onesided_code",
        "t17"."onesided_hash" AS "onesided_hash",
        ROW_NUMBER() OVER (
          PARTITION BY "t17"."c0"
          ORDER BY "t17"."onesided_hash" ASC, "t17"."onesided_code" ASC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) - 1 AS "onesided_rank"
      FROM (
        SELECT
          "t16"."c0" AS "c0",
          "t16"."onesided_code" AS "onesided_code",
          reinterpretAsInt64(
            sipHash64(
              CONCAT(
                CONCAT(
                  CONCAT(CAST(LENGTH(CAST("t16"."c0" AS Nullable(String))) AS Nullable(String)), ':'),
                  CAST("t16"."c0" AS Nullable(String))
                ),
                CAST("t16"."onesided_code" AS Nullable(String))
              )
            )
          ) AS "onesided_hash"
        FROM (
          SELECT DISTINCT
            *
          FROM (
            SELECT
              "t14"."c0" AS "c0",
              "t10"."onesided_order" AS "onesided_code"
            FROM (
              SELECT
                "t12"."c0" AS "c0",
                "t12"."c1" AS "c1"
              FROM (
                SELECT
                  "t11"."c0" AS "c0",
                  "t11"."c1" AS "c1",
                  "t11"."c2" AS "c2",
                  COALESCE("t11"."onesided_holds_0_0", FALSE) AS "onesided_holds_0_0",
                  CASE
                    WHEN COALESCE("t11"."onesided_holds_0_0", FALSE)
                    THEN 'sensitive'
                    ELSE 'open'
                  END AS "onesided_kind"
                FROM (
                  SELECT
                    "t9".*
                    EXCEPT ("c0_right")
                  FROM (
                    SELECT
                      "t2"."c0" AS "c0",
                      "t2"."c1" AS "c1",
                      "t2"."c2" AS "c2",
                      "t6"."c0" AS "c0_right",
                      "t6"."onesided_holds_0_0" AS "onesided_holds_0_0"
                    FROM (
                      SELECT
                        "t0"."person" AS "c0",
                        "t0"."place" AS "c1",
                        "t0"."age" AS "c2"
                      FROM "visits" AS "t0"
                    ) AS "t2"
                    LEFT OUTER JOIN (
                      SELECT
                        "t4"."c0" AS "c0",
                        TRUE AS "onesided_holds_0_0"
                      FROM (
                        SELECT DISTINCT
                          "t0"."person" AS "c0"
                        FROM "visits" AS "t0"
                        WHERE
                          NOT (
                            COALESCE((
                              "t0"."age" >= 18
                            ) AND (
                              "t0"."place" <> 'o''Brien\\'
                            ), FALSE)
                          )
                      ) AS "t4"
                    ) AS "t6"
                      ON "t2"."c0" = "t6"."c0"
                  ) AS "t9"
                ) AS "t11"
              ) AS "t12"
              WHERE
                CASE
                  WHEN isNull("t12"."onesided_kind")
                  THEN NULL
                  ELSE "t12"."onesided_kind" IN ('open')
                END
                AND "t12"."c2" >= 20
                AND "t12"."c2" <= 30
            ) AS "t14"
            INNER JOIN (
              SELECT
                *
              FROM (
                SELECT
                  UNHEX(
                    SUBSTRING(
                      nullIf(splitByString(',', CAST("t3"."onesided_spelt" AS String))[1], ''),
                      CASE
                        WHEN (
                          1 + 1
                        ) >= 1
                        THEN 1 + 1
                        ELSE 1 + 1 + LENGTH(nullIf(splitByString(',', CAST("t3"."onesided_spelt" AS String))[1], ''))
                      END
                    )
                  ) AS "c1",
                  CAST(nullIf(splitByString(',', CAST("t3"."onesided_spelt" AS String))[2], '') AS Nullable(Int64)) AS "onesided_order"
                FROM (
                  SELECT
                    arrayJoin(splitByString(';', CAST('x67796d,0' AS String))) AS "onesided_spelt"
                ) AS "t3"
              ) AS "t7"
            ) AS "t10"
              ON "t14"."c1" = "t10"."c1"
          ) AS "t15"
        ) AS "t16"
      ) AS "t17"
    ) AS "t18"
    WHERE
      "t18"."onesided_rank" < 1
  ) AS "t19"
  GROUP BY
    "t19"."onesided_code"
) AS "t20";
