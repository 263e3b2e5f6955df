-- servers_from: 10
-- A Node is updated three times and a pool often while they come up: rows that find room in their own page are logged by what
-- changed of them, and no index is written. Counts for pages to come.
ALTER TABLE node SET (fillfactor = 50);
ALTER TABLE node_pool SET (fillfactor = 50);
