SELECT
  *
FROM (
  SELECT
    COUNT(*) AS "onesided_length",
    COALESCE(SUM(CASE WHEN "t1"."c0" IS NULL THEN 1 ELSE 0 END), 0) AS "onesided_lost"
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
    COALESCE(SUM(CASE WHEN "t1"."c0" IS NULL THEN 1 ELSE 0 END), 0) AS "onesided_lost"
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
    "t11"."onesided_code",
    COUNT(*) AS "onesided_length"
  FROM (
    SELECT
      "t10"."c0",
      "t10"."onesided_code"
    FROM (
      SELECT
        "t9"."c0",
        "t9"."onesided_code",
        "t9"."onesided_hash",
        ROW_NUMBER() OVER (
          PARTITION BY "t9"."c0"
          ORDER BY "t9"."onesided_hash" ASC, "t9"."onesided_code" ASC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) - 1 AS "onesided_rank"
      FROM (
        SELECT
          "t8"."c0",
          "t8"."onesided_code",
          CAST(CAST(HASH(
            CAST(LENGTH(CAST("t8"."c0" AS TEXT)) AS TEXT) || ':' || CAST("t8"."c0" AS TEXT) || CAST("t8"."onesided_code" AS TEXT)
          ) AS BIT) AS BIGINT) AS "onesided_hash"
        FROM (
          SELECT DISTINCT
            *
          FROM (
            SELECT
              "t2"."c0",
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
                  DECODE(
                    UNHEX(
                      SUBSTRING(
                        NULLIF(LIST_EXTRACT(STR_SPLIT("t3"."onesided_spelt", ','), 1), ''),
                        CASE
                          WHEN (
                            1 + 1
                          ) >= 1
                          THEN 1 + 1
                          ELSE 1 + 1 + LENGTH(NULLIF(LIST_EXTRACT(STR_SPLIT("t3"."onesided_spelt", ','), 1), ''))
                        END
                      )
                    )
                  ) AS "c1",
                  CAST(NULLIF(LIST_EXTRACT(STR_SPLIT("t3"."onesided_spelt", ','), 2), '') AS BIGINT) AS "onesided_order"
                FROM (
                  SELECT
                    UNNEST(STR_SPLIT('x67796d,0;x6f27427269656e5c,1', ';')) AS "onesided_spelt"
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
    1
) AS "t12";
