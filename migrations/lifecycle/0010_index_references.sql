-- servers_from: 9
-- When a cluster goes, Postgres looks whether a pool refers to it: not in all of them, while every commit waits.
CREATE INDEX node_pool_cluster ON node_pool (cluster_name);
