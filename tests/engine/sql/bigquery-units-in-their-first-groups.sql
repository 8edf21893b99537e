SELECT
  *
FROM (
  SELECT
    COUNT(*) AS `onesided_length`,
    COALESCE(SUM(CASE WHEN `t1`.`c0` IS NULL THEN 1 ELSE 0 END), 0) AS `onesided_lost`
  FROM (
    SELECT
      `t0`.`person` AS `c0`
    FROM `visits` AS `t0`
  ) AS `t1`
) AS `t2`;

SELECT
  *
FROM (
  SELECT
    COUNT(*) AS `onesided_length`,
    COALESCE(SUM(CASE WHEN `t1`.`c0` IS NULL THEN 1 ELSE 0 END), 0) AS `onesided_lost`
  FROM (
    SELECT
      `t0`.`person` AS `c0`,
      `t0`.`place` AS `c1`
    FROM `visits` AS `t0`
  ) AS `t1`
) AS `t2`;

SELECT
  *
FROM (
  SELECT
    `t11`.`onesided_code`,
    COUNT(*) AS `onesided_length`
  FROM (
    SELECT
      `t10`.`c0`,
      `t10`.`onesided_code`
    FROM (
      SELECT
        `t9`.`c0`,
        `t9`.`onesided_code`,
        `t9`.`onesided_hash`,
        ROW_NUMBER() OVER (
          PARTITION BY `t9`.`c0`
          ORDER BY `t9`.`onesided_hash` ASC, `t9`.`onesided_code` ASC
        ) - 1 AS `onesided_rank`
      FROM (
        SELECT
          `t8`.`c0`,
          `t8`.`onesided_code`,
          FARM_FINGERPRINT(
            CONCAT(
              CONCAT(
                CONCAT(CAST(LENGTH(CAST(`t8`.`c0` AS STRING)) AS STRING), ':'),
                CAST(`t8`.`c0` AS STRING)
              ),
              CAST(`t8`.`onesided_code` AS STRING)
            )
          ) AS `onesided_hash`
        FROM (
          SELECT DISTINCT
            *
          FROM (
            SELECT
              `t2`.`c0`,
              `t6`.`onesided_order` AS `onesided_code`
            FROM (
              SELECT
                `t0`.`person` AS `c0`,
                `t0`.`place` AS `c1`
              FROM `visits` AS `t0`
            ) AS `t2`
            INNER JOIN (
              SELECT
                *
              FROM (
                SELECT
                  SAFE_CONVERT_BYTES_TO_STRING(
                    FROM_HEX(
                      SUBSTRING(
                        NULLIF(SPLIT(`t3`.`onesided_spelt`, ',')[safe_offset(0)], ''),
                        IF(
                          (
                            1 + 1
                          ) >= 1,
                          1 + 1,
                          1 + 1 + LENGTH(NULLIF(SPLIT(`t3`.`onesided_spelt`, ',')[safe_offset(0)], ''))
                        )
                      )
                    )
                  ) AS `c1`,
                  CAST(NULLIF(SPLIT(`t3`.`onesided_spelt`, ',')[safe_offset(1)], '') AS INT64) AS `onesided_order`
                FROM (
                  SELECT
                    IF(pos = pos_2, `onesided_spelt`, NULL) AS `onesided_spelt`
                  FROM UNNEST(GENERATE_ARRAY(0, GREATEST(ARRAY_LENGTH(SPLIT('x67796d,0;x6f27427269656e5c,1', ';'))) - 1)) AS pos
                  CROSS JOIN UNNEST(SPLIT('x67796d,0;x6f27427269656e5c,1', ';')) AS `onesided_spelt` WITH OFFSET AS pos_2
                  WHERE
                    pos = pos_2
                    OR (
                      pos > (
                        ARRAY_LENGTH(SPLIT('x67796d,0;x6f27427269656e5c,1', ';')) - 1
                      )
                      AND pos_2 = (
                        ARRAY_LENGTH(SPLIT('x67796d,0;x6f27427269656e5c,1', ';')) - 1
                      )
                    )
                ) AS `t3`
              ) AS `t4`
            ) AS `t6`
              ON `t2`.`c1` = `t6`.`c1`
          ) AS `t7`
        ) AS `t8`
      ) AS `t9`
    ) AS `t10`
    WHERE
      `t10`.`onesided_rank` < 2
  ) AS `t11`
  GROUP BY
    1
) AS `t12`;
