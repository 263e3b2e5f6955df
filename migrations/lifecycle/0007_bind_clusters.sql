-- Which Kubernetes a cluster is (the uid of its namespace kube-system), and an operator's order to go on with removals.
-- The defaults are for the rows that are there: nobody has said it of them, and no order was given.
ALTER TABLE cluster
    ADD COLUMN kubernetes_uid text NOT NULL DEFAULT '',
    ADD COLUMN allowed_node_pools bigint NOT NULL DEFAULT 0
        CONSTRAINT cluster_allowed_node_pools_not_negative CHECK (allowed_node_pools >= 0),
    ADD COLUMN allowed_nodes bigint NOT NULL DEFAULT 0
        CONSTRAINT cluster_allowed_nodes_not_negative CHECK (allowed_nodes >= 0),
    ADD COLUMN allowance_create_time timestamptz,
    ADD COLUMN allowance_expire_time timestamptz;
ALTER TABLE cluster
    ALTER COLUMN kubernetes_uid DROP DEFAULT,
    ALTER COLUMN allowed_node_pools DROP DEFAULT,
    ALTER COLUMN allowed_nodes DROP DEFAULT;
