SELECT
  COUNT(*) AS "onesided_length"
FROM (
  SELECT
    *
  FROM "visits" AS "t0"
  WHERE
    isNull("t0"."person")
) AS "t1";

SELECT
  *
FROM (
  SELECT
    "t18"."onesided_code" AS "onesided_code",
    COUNT(*) AS "onesided_length"
  FROM (
    SELECT
      "t17"."person" AS "person",
      "t17"."onesided_code" AS "onesided_code"
    FROM (
      SELECT
        "t16"."person" AS "person",
        "t16"."onesided_code" AS "onesided_code",
        "t16"."onesided_hash" AS "onesided_hash",
        ROW_NUMBER() OVER (
          PARTITION BY "t16"."person"
          ORDER BY "t16"."onesided_hash" ASC, "t16"."onesided_code" ASC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) - 1 AS "onesided_rank"
      FROM (
        SELECT
          "t15"."person" AS "person",
          "t15"."onesided_code" AS "onesided_code",
          reinterpretAsInt64(
            sipHash64(
              CONCAT(
                CONCAT(
                  CONCAT(CAST(LENGTH(CAST("t15"."person" AS Nullable(String))) AS Nullable(String)), ':'),
                  CAST("t15"."person" AS Nullable(String))
                ),
                CAST("t15"."onesided_code" AS Nullable(String))
              )
            )
          ) AS "onesided_hash"
        FROM (
          SELECT DISTINCT
            *
          FROM (
            SELECT
              "t13"."person" AS "person",
              "t9"."onesided_order" AS "onesided_code"
            FROM (
              SELECT
                "t11"."person" AS "person",
                "t11"."place" AS "place"
              FROM (
                SELECT
                  "t10"."person" AS "person",
                  "t10"."place" AS "place",
                  "t10"."age" AS "age",
                  "t10"."seen" AS "seen",
                  COALESCE("t10"."onesided_holds_0_0", FALSE) AS "onesided_holds_0_0",
                  CASE
                    WHEN COALESCE("t10"."onesided_holds_0_0", FALSE)
                    THEN 'sensitive'
                    ELSE 'open'
                  END AS "onesided_kind"
                FROM (
                  SELECT
                    "t8".*
                    EXCEPT ("person_right")
                  FROM (
                    SELECT
                      "t1"."person" AS "person",
                      "t1"."place" AS "place",
                      "t1"."age" AS "age",
                      "t1"."seen" AS "seen",
                      "t5"."person" AS "person_right",
                      "t5"."onesided_holds_0_0" AS "onesided_holds_0_0"
                    FROM "visits" AS "t1"
                    LEFT OUTER JOIN (
                      SELECT
                        "t3"."person" AS "person",
                        TRUE AS "onesided_holds_0_0"
                      FROM (
                        SELECT DISTINCT
                          "t0"."person" AS "person"
                        FROM "visits" AS "t0"
                        WHERE
                          NOT (
                            COALESCE((
                              "t0"."age" >= 18
                            ) AND (
                              "t0"."place" <> 'o''Brien\\'
                            ), FALSE)
                          )
                      ) AS "t3"
                    ) AS "t5"
                      ON "t1"."person" = "t5"."person"
                  ) AS "t8"
                ) AS "t10"
              ) AS "t11"
              WHERE
                CASE
                  WHEN isNull("t11"."onesided_kind")
                  THEN NULL
                  ELSE "t11"."onesided_kind" IN ('open')
                END
                AND "t11"."age" >= 20
                AND "t11"."age" <= 30
            ) AS "t13"
            INNER JOIN (
              SELECT
                *
              FROM (
                SELECT
                  UNHEX(
                    SUBSTRING(
                      nullIf(splitByString(',', CAST("t2"."onesided_spelt" AS String))[1], ''),
                      CASE
                        WHEN (
                          1 + 1
                        ) >= 1
                        THEN 1 + 1
                        ELSE 1 + 1 + LENGTH(nullIf(splitByString(',', CAST("t2"."onesided_spelt" AS String))[1], ''))
                      END
                    )
                  ) AS "place",
                  CAST(nullIf(splitByString(',', CAST("t2"."onesided_spelt" AS String))[2], '') AS Nullable(Int64)) AS "onesided_order"
                FROM (
                  SELECT
                    arrayJoin(splitByString(';', CAST('x67796d,0' AS String))) AS "onesided_spelt"
                ) AS "t2"
              ) AS "t6"
            ) AS "t9"
              ON "t13"."place" = "t9"."place"
          ) AS "t14"
        ) AS "t15"
      ) AS "t16"
    ) AS "t17"
    WHERE
      "t17"."onesided_rank" < 1
  ) AS "t18"
  GROUP BY
    "t18"."onesided_code"
) AS "t19";
