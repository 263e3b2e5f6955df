-- What a later release wrote of a row and an older one does not know: it stays with the row, whoever writes it. Fields of
-- a row's message, serialized; null: there are none.
ALTER TABLE quota ADD COLUMN later bytea;
ALTER TABLE holding ADD COLUMN later bytea;
ALTER TABLE released_pool ADD COLUMN later bytea;
ALTER TABLE kept_request ADD COLUMN later bytea;
