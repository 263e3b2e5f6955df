#pragma once

#include <prometheus/collectable.h>

#include <memory>

#include "services/tls/certificate_files.h"

namespace muster::rpc {

// `muster_tls_*`. `certificates` must outlive it.
std::shared_ptr<prometheus::Collectable> MakeCertificateCollector(
    const tls::CertificateFiles& certificates);

}  // namespace muster::rpc
