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
      "t0"."place" AS "c1"
    FROM "visits" AS "t0"
  ) AS "t1"
) AS "t2";

SELECT
  *
FROM (
  SELECT
    "t11"."onesided_code" AS "onesided_code",
    COUNT(*) AS "onesided_length"
  FROM (
    SELECT
      "t10"."c0" AS "c0",
      "t10"."onesided_code" AS "onesided_code"
    FROM (
      SELECT
        "t9"."c0" AS "c0",
        "t9"."onesided_code" AS "onesided_code",
        "t9"."onesided_hash" AS "onesided_hash",
        ROW_NUMBER() OVER (
          PARTITION BY "t9"."c0"
          ORDER BY "t9"."onesided_hash" ASC, "t9"."onesided_code" ASC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) - 1 AS "onesided_rank"
      FROM (
        SELECT
          "t8"."c0" AS "c0",
          "t8"."onesided_code" AS "onesided_code",
          reinterpretAsInt64(
            sipHash64(
              CONCAT(
                CONCAT(
                  CONCAT(CAST(LENGTH(CAST("t8"."c0" AS Nullable(String))) AS Nullable(String)), ':'),
                  CAST("t8"."c0" AS Nullable(String))
                ),
                CAST("t8"."onesided_code" AS Nullable(String))
              )
            )
          ) AS "onesided_hash"
        FROM (
          SELECT DISTINCT
            *
          FROM (
            SELECT
              "t2"."c0" AS "c0",
              "t6"."onesided_order" AS "onesided_code"
            FROM (
              SELECT
                "t0"."person" AS "c0",
                "t0"."place" AS "c1"
              FROM "visits" AS "t0"
            ) AS "t2"
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
                    arrayJoin(splitByString(';', CAST('x67796d,0;x6f27427269656e5c,1' AS String))) AS "onesided_spelt"
                ) AS "t3"
              ) AS "t4"
            ) AS "t6"
              ON "t2"."c1" = "t6"."c1"
          ) AS "t7"
        ) AS "t8"
      ) AS "t9"
    ) AS "t10"
    WHERE
      "t10"."onesided_rank" < 2
  ) AS "t11"
  GROUP BY
    "t11"."onesided_code"
) AS "t12";
