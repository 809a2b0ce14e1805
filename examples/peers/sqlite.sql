CREATE TABLE lines (line TEXT);
.mode ascii
.separator "\037" "\n"
.import events.ndjson lines
CREATE VIEW events AS
  SELECT line ->> '$.userB' AS userB, line ->> '$.timestamp' AS timestamp,
         line ->> '$.interaction' AS interaction FROM lines;
.mode csv
