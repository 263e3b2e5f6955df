-- What a later release wrote of a row and an older one does not know: it stays with the row, whoever writes it. Fields of
-- a row's message, serialized; null: there are none.
ALTER TABLE zone ADD COLUMN later bytea;
ALTER TABLE instance_type ADD COLUMN later bytea;
ALTER TABLE machine ADD COLUMN later bytea;
ALTER TABLE claim ADD COLUMN later bytea;
ALTER TABLE arrivals ADD COLUMN later bytea;
ALTER TABLE released_pool ADD COLUMN later bytea;
ALTER TABLE kept_request ADD COLUMN later bytea;
