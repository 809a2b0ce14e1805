-- The bursts of each user, for DuckDB and SQLite, of a view `events`. Of events at one instant the one
-- behind the gap comes first.
WITH gaps AS (
  SELECT *, coalesce(timestamp - lag(timestamp) OVER (PARTITION BY userB ORDER BY timestamp), 300) AS gap
  FROM events
), bursts AS (
  SELECT *, sum(CASE WHEN gap >= 300 THEN 1 ELSE 0 END)
              OVER (PARTITION BY userB ORDER BY timestamp, gap DESC ROWS UNBOUNDED PRECEDING) AS burst
  FROM gaps
)
SELECT userB AS user, count(*) AS events, min(timestamp) AS "from", max(timestamp) AS "to",
       count(DISTINCT interaction) AS kinds
FROM bursts GROUP BY userB, burst;
