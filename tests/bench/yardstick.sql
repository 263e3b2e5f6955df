-- The yardstick: the same effect as one hold or release on one hot key, as one server-side function call a transaction.
-- What holds: never over the limit, a holding a pool, fenced by its generation, and a journal row with a gapless revision.
DROP SCHEMA IF EXISTS yardstick CASCADE;
CREATE SCHEMA yardstick;
CREATE TABLE yardstick.quota (name text PRIMARY KEY, limit_nodes bigint NOT NULL, held bigint NOT NULL, revision bigint NOT NULL,
                              CHECK (held >= 0)) WITH (fillfactor = 50);
CREATE TABLE yardstick.holding (name text PRIMARY KEY, quota text NOT NULL, nodes bigint NOT NULL, generation bigint NOT NULL,
                                update_time timestamptz NOT NULL) WITH (fillfactor = 70);
CREATE TABLE yardstick.journal (revision bigint PRIMARY KEY, kind text NOT NULL, key text NOT NULL, change text NOT NULL);
INSERT INTO yardstick.quota VALUES ('hot', 1000000, 0, 0);

CREATE FUNCTION yardstick.sync_holding(p_quota text, p_name text, p_nodes bigint, p_generation bigint) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    q yardstick.quota;
    h yardstick.holding;
BEGIN
    SELECT * INTO q FROM yardstick.quota WHERE name = p_quota FOR UPDATE;
    IF NOT FOUND THEN RETURN 'not set'; END IF;
    SELECT * INTO h FROM yardstick.holding WHERE name = p_name;
    IF h.generation > p_generation THEN RETURN 'too old'; END IF;
    IF p_nodes > coalesce(h.nodes, 0) AND q.held + p_nodes - coalesce(h.nodes, 0) > q.limit_nodes THEN RETURN 'over'; END IF;
    INSERT INTO yardstick.holding VALUES (p_name, p_quota, p_nodes, p_generation, now())
        ON CONFLICT (name) DO UPDATE SET nodes = excluded.nodes, generation = excluded.generation, update_time = excluded.update_time;
    UPDATE yardstick.quota SET held = held + p_nodes - coalesce(h.nodes, 0), revision = revision + 1 WHERE name = p_quota;
    INSERT INTO yardstick.journal VALUES (q.revision + 1, 'holding', p_name, p_nodes || ' ' || p_generation);
    RETURN 'under';
END $$;

-- The same effect for many holds that were decided beforehand (p_held: what they come to), as one statement of arrays.
CREATE FUNCTION yardstick.put_holdings(p_quota text, p_held bigint, p_names text[], p_nodes bigint[]) RETURNS void
LANGUAGE sql AS $$
    WITH head AS (
        UPDATE yardstick.quota SET held = p_held, revision = revision + cardinality(p_names)
            WHERE name = p_quota AND p_held <= limit_nodes RETURNING revision - cardinality(p_names) AS before
    ), put AS (
        INSERT INTO yardstick.holding SELECT name, p_quota, nodes, 1, now() FROM unnest(p_names, p_nodes) AS put (name, nodes)
            ON CONFLICT (name) DO UPDATE SET nodes = excluded.nodes, generation = excluded.generation, update_time = excluded.update_time
    )
    INSERT INTO yardstick.journal SELECT before + number, 'holding', name, nodes || ' 1'
        FROM head, unnest(p_names, p_nodes) WITH ORDINALITY AS put (name, nodes, number)
$$;
