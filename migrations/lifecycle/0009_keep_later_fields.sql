-- What a later release wrote of a row and an older one does not know: it stays with the row, whoever writes it. Fields of
-- a row's message, serialized; null: there are none.
ALTER TABLE cluster ADD COLUMN later bytea;
ALTER TABLE node_pool ADD COLUMN later bytea;
ALTER TABLE node ADD COLUMN later bytea;
ALTER TABLE event ADD COLUMN later bytea;
ALTER TABLE lease ADD COLUMN later bytea;
ALTER TABLE kept_request ADD COLUMN later bytea;
