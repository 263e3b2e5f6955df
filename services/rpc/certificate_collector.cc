#include "services/rpc/certificate_collector.h"

#include <vector>

#include "services/rpc/metric_family.h"

namespace muster::rpc {
namespace {

class CertificateCollector final : public prometheus::Collectable {
 public:
  explicit CertificateCollector(const tls::CertificateFiles& certificates)
      : certificates_(certificates) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    const tls::CertificateFiles::Stats stats = certificates_.stats();
    prometheus::MetricFamily reloads =
        Counters("muster_tls_certificate_reloads_total",
                 "Times that the files of TLS were taken, the first included, or changed into what "
                 "cannot be used, so that the last stayed.");
    AddSample(reloads, {{"result", "taken"}}, stats.taken);
    AddSample(reloads, {{"result", "refused"}}, stats.refused);
    return {
        Gauge("muster_tls_certificate_not_before_timestamp_seconds",
              "Since when the certificate that this process shows is good, as Unix time.",
              absl::ToDoubleSeconds(stats.identity.begins - absl::UnixEpoch())),
        Gauge("muster_tls_certificate_expiry_timestamp_seconds",
              "When the first of the certificates that this process shows expires, as Unix time.",
              absl::ToDoubleSeconds(stats.identity.expires - absl::UnixEpoch())),
        std::move(reloads),
        Gauge("muster_tls_certificate_refused",
              "1: the files of TLS that are there now cannot be used, and the last that could are "
              "shown on; else 0.",
              stats.refused_now ? 1 : 0),
        Counter("muster_tls_refused_handshakes_total",
                "Connections of callers whose certificate is an authority's, and names no SPIFFE "
                "ID of the trust domain.",
                stats.refused_handshakes)};
  }

 private:
  const tls::CertificateFiles& certificates_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> MakeCertificateCollector(
    const tls::CertificateFiles& certificates) {
  return std::make_shared<CertificateCollector>(certificates);
}

}  // namespace muster::rpc
