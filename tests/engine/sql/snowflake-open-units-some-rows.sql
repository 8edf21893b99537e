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
      "t0"."place" AS "c1",
      "t0"."age" AS "c2"
    FROM "visits" AS "t0"
  ) AS "t1"
) AS "t2";

SELECT
  *
FROM (
  SELECT
    "t19"."onesided_code",
    COUNT(*) AS "onesided_length"
  FROM (
    SELECT
      "t18"."c0",
      "t18"."onesided_code"
    FROM (
      SELECT
        "t17"."c0",
        "t17"."onesided_code",
        "t17"."onesided_hash",
        ROW_NUMBER() OVER (
          PARTITION BY "t17"."c0"
          ORDER BY "t17"."onesided_hash" ASC, "t17"."onesided_code" ASC
        ) - 1 AS "onesided_rank"
      FROM (
        SELECT
          "t16"."c0",
          "t16"."onesided_code",
          HASH(
            CONCAT(
              CONCAT(
                CONCAT(CAST(LENGTH(CAST("t16"."c0" AS VARCHAR)) AS VARCHAR), ':'),
                CAST("t16"."c0" AS VARCHAR)
              ),
              CAST("t16"."onesided_code" AS VARCHAR)
            )
          ) AS "onesided_hash"
        FROM (
          SELECT DISTINCT
            *
          FROM (
            SELECT
              "t14"."c0",
              "t10"."onesided_order" AS "onesided_code"
            FROM (
              SELECT
                "t12"."c0",
                "t12"."c1"
              FROM (
                SELECT
                  "t11"."c0",
                  "t11"."c1",
                  "t11"."c2",
                  COALESCE("t11"."onesided_holds_0_0", FALSE) AS "onesided_holds_0_0",
                  CASE
                    WHEN COALESCE("t11"."onesided_holds_0_0", FALSE)
                    THEN 'sensitive'
                    ELSE 'open'
                  END AS "onesided_kind"
                FROM (
                  SELECT
                    "t9".*
                    EXCLUDE ("c0_right")
                  FROM (
                    SELECT
                      "t2"."c0",
                      "t2"."c1",
                      "t2"."c2",
                      "t6"."c0" AS "c0_right",
                      "t6"."onesided_holds_0_0"
                    FROM (
                      SELECT
                        "t0"."person" AS "c0",
                        "t0"."place" AS "c1",
                        "t0"."age" AS "c2"
                      FROM "visits" AS "t0"
                    ) AS "t2"
                    LEFT OUTER JOIN (
                      SELECT
                        "t4"."c0",
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
                              "t0"."place" <> 'o\'Brien\\'
                            ), FALSE)
                          )
                      ) AS "t4"
                    ) AS "t6"
                      ON "t2"."c0" = "t6"."c0"
                  ) AS "t9"
                ) AS "t11"
              ) AS "t12"
              WHERE
                IFF("t12"."onesided_kind" IS NULL, NULL, "t12"."onesided_kind" IN ('open'))
                AND "t12"."c2" >= 20
                AND "t12"."c2" <= 30
            ) AS "t14"
            INNER JOIN (
              SELECT
                *
              FROM (
                SELECT
                  HEX_DECODE_STRING(
                    SUBSTRING(
                      NULLIF(GET(SPLIT("t3"."onesided_spelt", ','), 0), ''),
                      IFF(
                        (
                          1 + 1
                        ) >= 1,
                        1 + 1,
                        1 + 1 + LENGTH(NULLIF(GET(SPLIT("t3"."onesided_spelt", ','), 0), ''))
                      )
                    )
                  ) AS "c1",
                  CAST(NULLIF(GET(SPLIT("t3"."onesided_spelt", ','), 1), '') AS BIGINT) AS "onesided_order"
                FROM (
                  SELECT
                    CAST(NULLIF(IFF(_u.pos = _u_2.pos_2, _u_2."onesided_spelt", NULL), '') AS VARCHAR) AS "onesided_spelt"
                  FROM TABLE(FLATTEN(INPUT => ARRAY_GENERATE_RANGE(
                    0,
                    (
                      GREATEST(
                        ARRAY_SIZE(
                          SPLIT(
                            ARRAY_TO_STRING(NULLIF(SPLIT('x67796d,0', ';'), []), 'separator'),
                            'separator'
                          )
                        )
                      ) - 1
                    ) + 1
                  ))) AS _u(seq, key, path, index, pos, this)
                  CROSS JOIN TABLE(FLATTEN(INPUT => SPLIT(
                    ARRAY_TO_STRING(NULLIF(SPLIT('x67796d,0', ';'), []), 'separator'),
                    'separator'
                  ))) AS _u_2(seq, key, path, pos_2, "onesided_spelt", this)
                  WHERE
                    _u.pos = _u_2.pos_2
                    OR (
                      _u.pos > (
                        ARRAY_SIZE(
                          SPLIT(
                            ARRAY_TO_STRING(NULLIF(SPLIT('x67796d,0', ';'), []), 'separator'),
                            'separator'
                          )
                        ) - 1
                      )
                      AND _u_2.pos_2 = (
                        ARRAY_SIZE(
                          SPLIT(
                            ARRAY_TO_STRING(NULLIF(SPLIT('x67796d,0', ';'), []), 'separator'),
                            'separator'
                          )
                        ) - 1
                      )
                    )
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
    1
) AS "t20";
