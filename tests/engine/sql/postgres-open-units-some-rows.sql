SELECT
  COUNT(*) AS "onesided_length"
FROM (
  SELECT
    *
  FROM "visits" AS "t0"
  WHERE
    (
      (
        "t0"."person"
      ) IS NULL
    )
) AS "t1";

SELECT
  *
FROM (
  SELECT
    "t18"."onesided_code",
    COUNT(*) AS "onesided_length"
  FROM (
    SELECT
      "t17"."person",
      "t17"."onesided_code"
    FROM (
      SELECT
        "t16"."person",
        "t16"."onesided_code",
        "t16"."onesided_hash",
        ROW_NUMBER() OVER (
          PARTITION BY "t16"."person"
          ORDER BY "t16"."onesided_hash" ASC, "t16"."onesided_code" ASC
          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) - 1 AS "onesided_rank"
      FROM (
        SELECT
          "t15"."person",
          "t15"."onesided_code",
          HASHTEXTEXTENDED(
            CAST(LENGTH(CAST("t15"."person" AS VARCHAR)) AS VARCHAR) || ':' || CAST("t15"."person" AS VARCHAR) || CAST("t15"."onesided_code" AS VARCHAR),
            0
          ) AS "onesided_hash"
        FROM (
          SELECT DISTINCT
            *
          FROM (
            SELECT
              "t13"."person",
              "t10"."onesided_order" AS "onesided_code"
            FROM (
              SELECT
                "t11"."person",
                "t11"."place"
              FROM (
                SELECT
                  "t9"."person",
                  "t9"."place",
                  "t9"."age",
                  "t9"."seen",
                  COALESCE("t9"."onesided_holds_0_0", FALSE) AS "onesided_holds_0_0",
                  CASE
                    WHEN COALESCE("t9"."onesided_holds_0_0", FALSE)
                    THEN 'sensitive'
                    ELSE 'open'
                  END AS "onesided_kind"
                FROM (
                  SELECT
                    "t7"."person",
                    "t7"."place",
                    "t7"."age",
                    "t7"."seen",
                    "t7"."onesided_holds_0_0"
                  FROM (
                    SELECT
                      "t1"."person",
                      "t1"."place",
                      "t1"."age",
                      "t1"."seen",
                      "t5"."person" AS "person_right",
                      "t5"."onesided_holds_0_0"
                    FROM "visits" AS "t1"
                    LEFT OUTER JOIN (
                      SELECT
                        "t3"."person",
                        TRUE AS "onesided_holds_0_0"
                      FROM (
                        SELECT DISTINCT
                          "t0"."person"
                        FROM "visits" AS "t0"
                        WHERE
                          (
                            NOT (
                              (
                                COALESCE(
                                  (
                                    "t0"."age" >= CAST('18' AS BIGINT)
                                  ) AND (
                                    "t0"."place" <> 'o''Brien\'
                                  ),
                                  FALSE
                                )
                              )
                            )
                          )
                      ) AS "t3"
                    ) AS "t5"
                      ON "t1"."person" = "t5"."person"
                  ) AS "t7"
                ) AS "t9"
              ) AS "t11"
              WHERE
                CASE
                  WHEN (
                    (
                      "t11"."onesided_kind"
                    ) IS NULL
                  )
                  THEN NULL
                  ELSE (
                    (
                      "t11"."onesided_kind"
                    ) IN ('open')
                  )
                END
                AND "t11"."age" >= CAST('20' AS BIGINT)
                AND "t11"."age" <= CAST('30' AS BIGINT)
            ) AS "t13"
            INNER JOIN (
              SELECT
                *
              FROM (
                SELECT
                  CONVERT_FROM(
                    DECODE(
                      SUBSTRING(NULLIF(
                        (
                          STRING_TO_ARRAY("t2"."onesided_spelt", ',')
                        )[CASE
                          WHEN 0 < 0
                          THEN CARDINALITY(STRING_TO_ARRAY("t2"."onesided_spelt", ',')) + (
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
                              STRING_TO_ARRAY("t2"."onesided_spelt", ',')
                            )[CASE
                              WHEN 0 < 0
                              THEN CARDINALITY(STRING_TO_ARRAY("t2"."onesided_spelt", ',')) + (
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
                  ) AS "place",
                  CAST(NULLIF(
                    (
                      STRING_TO_ARRAY("t2"."onesided_spelt", ',')
                    )[CASE
                      WHEN 1 < 0
                      THEN CARDINALITY(STRING_TO_ARRAY("t2"."onesided_spelt", ',')) + (
                        1 + 1
                      )
                      ELSE 1 + 1
                    END],
                    ''
                  ) AS BIGINT) AS "onesided_order"
                FROM (
                  SELECT
                    UNNEST(STRING_TO_ARRAY('x67796d,0', ';')) AS "onesided_spelt"
                ) AS "t2"
              ) AS "t6"
            ) AS "t10"
              ON "t13"."place" = "t10"."place"
          ) AS "t14"
        ) AS "t15"
      ) AS "t16"
    ) AS "t17"
    WHERE
      "t17"."onesided_rank" < 1
  ) AS "t18"
  GROUP BY
    1
) AS "t19";
