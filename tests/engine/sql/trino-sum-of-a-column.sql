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
    COUNT(*) AS "onesided_length"
  FROM (
    SELECT
      "t0"."person" AS "c0",
      "t0"."place" AS "c1",
      "t0"."age" AS "c2"
    FROM "visits" AS "t0"
    WHERE
      "t0"."age" IS NULL
  ) AS "t1"
) AS "t2";

SELECT
  *
FROM (
  SELECT
    "t15"."onesided_order",
    COALESCE(SUM("t15"."onesided_length"), 0) AS "onesided_length",
    COALESCE(SUM("t15"."onesided_value"), 0) AS "onesided_value"
  FROM (
    SELECT
      "t14"."c0",
      "t14"."c1",
      "t14"."onesided_value",
      "t14"."onesided_length",
      "t14"."onesided_order"
    FROM (
      SELECT
        "t13"."c0",
        "t13"."c1",
        "t13"."onesided_value",
        "t13"."onesided_length",
        "t13"."onesided_order",
        "t13"."onesided_hash"
      FROM (
        SELECT
          *
        FROM (
          SELECT
            "t11"."c0",
            "t11"."c1",
            "t11"."onesided_value",
            "t11"."onesided_length",
            "t11"."onesided_order",
            "t11"."onesided_hash",
            ROW_NUMBER() OVER (
              PARTITION BY "t11"."c0"
              ORDER BY "t11"."onesided_hash" ASC, "t11"."onesided_order" ASC
            ) - 1 AS "onesided_rank"
          FROM (
            SELECT
              "t10"."c0",
              "t10"."c1",
              "t10"."onesided_value",
              "t10"."onesided_length",
              "t10"."onesided_order",
              FROM_BIG_ENDIAN_64(
                XXHASH64(
                  TO_UTF8(
                    CONCAT(
                      CONCAT(
                        CONCAT(CAST(LENGTH(CAST("t10"."c0" AS VARCHAR)) AS VARCHAR), ':'),
                        CAST("t10"."c0" AS VARCHAR)
                      ),
                      CAST("t10"."onesided_order" AS VARCHAR)
                    )
                  )
                )
              ) AS "onesided_hash"
            FROM (
              SELECT
                "t9"."c0",
                "t9"."c1",
                "t9"."onesided_value",
                "t9"."onesided_length",
                "t6"."onesided_order"
              FROM (
                SELECT
                  "t7"."c0",
                  "t7"."c1",
                  CASE
                    WHEN "t7"."onesided_value" < 0
                    THEN 0
                    ELSE CASE WHEN "t7"."onesided_value" > 99 THEN 99 ELSE "t7"."onesided_value" END
                  END - 0 AS "onesided_value",
                  1 AS "onesided_length"
                FROM (
                  SELECT
                    "t3"."c0",
                    "t3"."c1",
                    COALESCE(SUM("t3"."onesided_value"), 0) AS "onesided_value",
                    COUNT(*) AS "onesided_length"
                  FROM (
                    SELECT
                      "t2"."c0",
                      "t2"."c1",
                      "t2"."c2",
                      CASE
                        WHEN "t2"."onesided_value" < 0
                        THEN 0
                        ELSE CASE WHEN "t2"."onesided_value" > 99 THEN 99 ELSE "t2"."onesided_value" END
                      END AS "onesided_value"
                    FROM (
                      SELECT
                        "t0"."person" AS "c0",
                        "t0"."place" AS "c1",
                        "t0"."age" AS "c2",
                        CASE
                          WHEN CAST("t0"."age" AS BIGINT) < 0
                          THEN 0
                          ELSE CASE
                            WHEN CAST("t0"."age" AS BIGINT) > 99
                            THEN 99
                            ELSE CAST("t0"."age" AS BIGINT)
                          END
                        END AS "onesided_value"
                      FROM "visits" AS "t0"
                    ) AS "t2"
                  ) AS "t3"
                  GROUP BY
                    1,
                    2
                ) AS "t7"
              ) AS "t9"
              INNER JOIN (
                SELECT
                  *
                FROM (
                  SELECT
                    FROM_UTF8(
                      FROM_HEX(
                        SUBSTR(
                          NULLIF(ELEMENT_AT(SPLIT("t1"."onesided_spelt", ','), 0 + 1), ''),
                          IF(
                            (
                              1 + 1
                            ) >= 1,
                            1 + 1,
                            1 + 1 + LENGTH(NULLIF(ELEMENT_AT(SPLIT("t1"."onesided_spelt", ','), 0 + 1), ''))
                          )
                        )
                      )
                    ) AS "c1",
                    CAST(NULLIF(ELEMENT_AT(SPLIT("t1"."onesided_spelt", ','), 1 + 1), '') AS BIGINT) AS "onesided_order"
                  FROM (
                    SELECT
                      IF(_u.pos = _u_2.pos_2, _u_2."onesided_spelt") AS "onesided_spelt"
                    FROM UNNEST(SEQUENCE(1, GREATEST(CARDINALITY(SPLIT('x67796d,0', ';'))))) AS _u(pos)
                    CROSS JOIN UNNEST(SPLIT('x67796d,0', ';')) WITH ORDINALITY AS _u_2("onesided_spelt", pos_2)
                    WHERE
                      _u.pos = _u_2.pos_2
                      OR (
                        _u.pos > CARDINALITY(SPLIT('x67796d,0', ';'))
                        AND _u_2.pos_2 = CARDINALITY(SPLIT('x67796d,0', ';'))
                      )
                  ) AS "t1"
                ) AS "t4"
              ) AS "t6"
                ON "t9"."c1" = "t6"."c1"
            ) AS "t10"
          ) AS "t11"
        ) AS "t12"
        WHERE
          "t12"."onesided_rank" < 1
      ) AS "t13"
    ) AS "t14"
  ) AS "t15"
  GROUP BY
    1
) AS "t16";
