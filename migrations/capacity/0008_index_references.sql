-- servers_from: 7
-- When a zone or an instance type goes, Postgres looks whether a machine refers to it: not in all of them, while every commit waits.
CREATE INDEX machine_zone ON machine (zone);
CREATE INDEX machine_instance_type ON machine (instance_type);
