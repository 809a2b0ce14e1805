CREATE VIEW events AS SELECT * FROM read_json('events.ndjson', format = 'newline_delimited');
