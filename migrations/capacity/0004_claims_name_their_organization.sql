-- Priorities order the requests of one organization among themselves: claims name it, and the places in the queue of a claim may be
-- others than those of its own parts, once a request of its organization went before another.

-- `organization` is empty only where the pool's name does not tell it; the claim's next request does. No `place_*`: the places are
-- those of the parts. `place_askers` are the pool uids of the claims that asked for them.
ALTER TABLE claim
    ADD COLUMN organization text NOT NULL DEFAULT '',
    ADD COLUMN place_times timestamptz[] NOT NULL DEFAULT '{}',
    ADD COLUMN place_askers text[] NOT NULL DEFAULT '{}',
    ADD COLUMN place_nodes bigint[] NOT NULL DEFAULT '{}'
        CONSTRAINT claim_places_positive CHECK (0 < ALL (place_nodes)),
    ADD CONSTRAINT claim_places_paired CHECK (cardinality(place_times) = cardinality(place_nodes)
                                              AND cardinality(place_askers) = cardinality(place_nodes));

-- The place that was used up for the machine, where it is not its request's own.
ALTER TABLE machine
    ADD COLUMN place_time timestamptz
        CONSTRAINT machine_place_time_of_a_claim CHECK (place_time IS NULL OR claim IS NOT NULL);

UPDATE claim SET organization = substring(pool FROM '^organizations/([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)/')
 WHERE pool ~ '^organizations/[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/';

-- The last change of each such claim in the journal says so too: field 24 of muster.capacity.v1.Claim, appended.
UPDATE journal
   SET change = journal.change || '\xc201'::bytea || set_byte('\x00'::bytea, 0, octet_length(claim.organization))
                || convert_to(claim.organization, 'UTF8')
  FROM claim
 WHERE claim.revision = journal.revision AND claim.organization <> ''
   AND journal.kind = 'claim' AND journal.key = 'claims/' || claim.pool_uid;
