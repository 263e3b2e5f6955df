-- servers_from: 8
-- A machine is updated when it is granted, all of a pool at once: rows that find room in their own page are logged by what
-- changed of them, and no index is written. Counts for pages to come.
ALTER TABLE machine SET (fillfactor = 50);
