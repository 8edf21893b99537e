SELECT
  *
FROM (
  SELECT
    COUNT(*) AS "onesided_length",
    COALESCE(
      CAST(SUM(CASE WHEN (
        (
          "t1"."c0"
        ) IS NULL
      ) THEN 1 ELSE 0 END) AS BIGINT),
      0
    ) AS "onesided_lost"
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
    COALESCE(
      CAST(SUM(CASE WHEN (
        (
          "t1"."c0"
        ) IS NULL
      ) THEN 1 ELSE 0 END) AS BIGINT),
      0
    ) AS "onesided_lost"
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
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) - 1 AS "onesided_rank"
      FROM (
        SELECT
          "t16"."c0",
          "t16"."onesided_code",
          HASHTEXTEXTENDED(
            CAST(LENGTH(CAST("t16"."c0" AS VARCHAR)) AS VARCHAR) || ':' || CAST("t16"."c0" AS VARCHAR) || CAST("t16"."onesided_code" AS VARCHAR),
            0
          ) AS "onesided_hash"
        FROM (
          SELECT DISTINCT
            *
          FROM (
            SELECT
              "t14"."c0",
              "t11"."onesided_order" AS "onesided_code"
            FROM (
              SELECT
                "t12"."c0",
                "t12"."c1"
              FROM (
                SELECT
                  "t8"."c0",
                  "t8"."c1",
                  "t8"."c2",
                  COALESCE("t8"."onesided_holds_0_0", FALSE) AS "onesided_holds_0_0",
                  CASE
                    WHEN COALESCE("t8"."onesided_holds_0_0", FALSE)
                    THEN 'sensitive'
                    ELSE 'open'
                  END AS "onesided_kind"
                FROM (
                  SELECT
                    "t7"."c0",
                    "t7"."c1",
                    "t7"."c2",
                    "t7"."onesided_holds_0_0"
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
                        "t3"."c0",
                        TRUE AS "onesided_holds_0_0"
                      FROM (
                        SELECT DISTINCT
                          "t0"."person" AS "c0"
                        FROM "visits" AS "t0"
                        WHERE
                          (
                            (
                              NOT COALESCE(
                                (
                                  (
                                    (
                                      "t0"."age"
                                    ) >= CAST('18' AS BIGINT)
                                  )
                                  AND (
                                    (
                                      (
                                        "t0"."place"
                                      ) COLLATE "C"
                                    ) <> (
                                      'o''Brien\' COLLATE "C"
                                    )
                                  )
                                ),
                                FALSE
                              )
                            )
                          )
                      ) AS "t3"
                    ) AS "t6"
                      ON "t2"."c0" = "t6"."c0"
                  ) AS "t7"
                ) AS "t8"
              ) AS "t12"
              WHERE
                CASE
                  WHEN (
                    (
                      "t12"."onesided_kind"
                    ) IS NULL
                  )
                  THEN NULL
                  ELSE (
                    (
                      "t12"."onesided_kind"
                    ) IN ('open')
                  )
                END
                AND (
                  (
                    (
                      (
                        "t12"."c2"
                      ) >= CAST('20' AS BIGINT)
                    )
                    AND (
                      (
                        "t12"."c2"
                      ) <= CAST('30' AS BIGINT)
                    )
                  )
                )
            ) AS "t14"
            INNER JOIN (
              SELECT
                *
              FROM (
                SELECT
                  CONVERT_FROM(
                    DECODE(
                      SUBSTRING(NULLIF(
                        (
                          STRING_TO_ARRAY("t4"."onesided_spelt", ',')
                        )[CASE
                          WHEN 0 < 0
                          THEN CARDINALITY(STRING_TO_ARRAY("t4"."onesided_spelt", ',')) + (
                            0 + 1
                          )
                          ELSE 0 + 1
                        END],
                        ''
                      ) FROM CASE
                        WHEN (
                          1 + 1
                        ) >= 1
                        THEN 1 + 1
                        ELSE 1 + 1 + LENGTH(
                          NULLIF(
                            (
                              STRING_TO_ARRAY("t4"."onesided_spelt", ',')
                            )[CASE
                              WHEN 0 < 0
                              THEN CARDINALITY(STRING_TO_ARRAY("t4"."onesided_spelt", ',')) + (
                                0 + 1
                              )
                              ELSE 0 + 1
                            END],
                            ''
                          )
                        )
                      END),
                      'hex'
                    ),
                    'UTF8'
                  ) AS "c1",
                  CAST(NULLIF(
                    (
                      STRING_TO_ARRAY("t4"."onesided_spelt", ',')
                    )[CASE
                      WHEN 1 < 0
                      THEN CARDINALITY(STRING_TO_ARRAY("t4"."onesided_spelt", ',')) + (
                        1 + 1
                      )
                      ELSE 1 + 1
                    END],
                    ''
                  ) AS BIGINT) AS "onesided_order"
                FROM (
                  SELECT
                    UNNEST(STRING_TO_ARRAY('x67796d,0', ';')) AS "onesided_spelt"
                ) AS "t4"
              ) AS "t9"
            ) AS "t11"
              ON "t14"."c1" = "t11"."c1"
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
