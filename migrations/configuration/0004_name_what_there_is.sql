-- Kernels are released, too, and images and kernels may bear names; a problem is the spec's or it is not.
ALTER TABLE release
    DROP CONSTRAINT release_component_known,
    DROP CONSTRAINT release_version_shape,
    ADD CONSTRAINT release_component_known
        CHECK (component IN ('gpu-driver', 'ncore-image', 'kubernetes', 'kernel')),
    ADD CONSTRAINT release_version_shape
        CHECK (version ~ '^[0-9]{1,9}(\.[0-9]{1,9}){0,3}$'
               OR (component IN ('ncore-image', 'kernel') AND version ~ '^[A-Za-z0-9][A-Za-z0-9._:+-]{0,252}$'));

-- Which it is, the next look at the pool tells: a server settles every pool when it starts.
ALTER TABLE pool_configuration
    ADD COLUMN problem_of_spec boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT pool_configuration_of_spec_is_a_problem CHECK (NOT problem_of_spec OR problem <> '');
