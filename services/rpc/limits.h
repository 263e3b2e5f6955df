#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

// Every limit of the RPC layer, in one place.
namespace muster::rpc {

// The largest request that is taken, unless a flag says otherwise; and the largest batch that our
// own clients make, so that it fits.
inline constexpr int kMaxReceiveBytes = 1 << 20;
inline constexpr size_t kMaxBatchBytes = kMaxReceiveBytes / 2;
// What a request may be before it is parsed (request_bounds.h): entries of one list or map, bytes
// of one string, entries of all lists together. Many fields take less, and say so.
inline constexpr int kMaxEntries = 1000;
inline constexpr size_t kMaxStringBytes = 16 << 10;
inline constexpr int kMaxRequestEntries = 100'000;
// The largest answer a client takes: a page of 1,000 resources with room to spare.
inline constexpr int kMaxClientReceiveBytes = 16 << 20;
// All headers of one call together.
inline constexpr int kMaxMetadataBytes = 16 << 10;
// Calls at a time on one connection; more wait in the client.
inline constexpr int kMaxStreamsPerConnection = 1000;

// What one caller (call_info.h, PrincipalOf) may have under way at a time, unless flags say
// otherwise.
inline constexpr int64_t kMaxCallsOfACaller = 10'000;
inline constexpr int64_t kMaxWatchesOfACaller = 5'000;
// Watches of all callers together: each has a stream and a queue.
inline constexpr int64_t kMaxWatches = 50'000;
// The last tenth of these is for callers with few: agents, adapters, and other services among them.
inline constexpr int64_t kFewWatchesOfACaller = 100;
// How many calls of one caller may be at work, of those begun less than about half a second ago,
// while others call, too: the rest waits in line. More of them would hardly be answered faster, and
// others would wait longer.
inline constexpr int64_t kMaxRunningCallsOfACaller = 64;
// Bytes of the requests of all these calls and watches together: 128 of our own clients' largest
// batches.
inline constexpr int64_t kMaxRequestBytesOfACaller = int64_t{64} << 20;
// How many rows one organization's calls may change in a minute: a hundred a second, of some 20,000
// that a journal takes. Large rows count as several (ChangePace::ChangesOf), so that these are 24
// MB of journal at most.
inline constexpr double kMaxChangesPerMinute = 6'000;

// How many refusals (RESOURCE_EXHAUSTED) of one caller a second are answered at once; how long the
// others are kept back at most; how many may be so at a time, of all callers, and how many bytes
// the request of each may have: it lives on, parsed, as does what gRPC has of the call.
inline constexpr int kRefusalsPerSecond = 1'000;
inline constexpr absl::Duration kMostKeptBack = absl::Milliseconds(500);
inline constexpr int64_t kMostRefusalsKeptBack = 10'000;
inline constexpr int64_t kMostBytesKeptBack = 512;

// A reader of a watch that has not taken a message for so long is late: it sees the past.
inline constexpr absl::Duration kLateReader = absl::Seconds(10);

// A call without a deadline gets this one.
inline constexpr absl::Duration kDefaultDeadline = absl::Seconds(30);
// How late, at most, a call whose deadline has passed is answered.
inline constexpr absl::Duration kDeadlineTick = absl::Milliseconds(50);

// A server asks a silent connection for a sign of life, and drops it when none comes.
inline constexpr absl::Duration kServerKeepaliveTime = absl::Seconds(60);
inline constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(20);
// A client does so earlier, so that a dead server is noticed before its callers' deadlines.
inline constexpr absl::Duration kClientKeepaliveTime = absl::Seconds(20);
// A client that asks more often than this is cut off.
inline constexpr absl::Duration kMinPingInterval = absl::Seconds(10);

// A connection is asked to go after this time (spread by gRPC by a tenth), so that load finds new
// replicas. What still runs on it after the grace is cancelled: watches resume elsewhere.
inline constexpr absl::Duration kMaxConnectionAge = absl::Minutes(30);
inline constexpr absl::Duration kMaxConnectionAgeGrace = absl::Minutes(5);

// A connection says what it is (HTTP/2's preface and settings) within this time, or is closed.
inline constexpr absl::Duration kHandshakeTimeout = absl::Seconds(5);
// Likewise a request for /metrics.
inline constexpr absl::Duration kMetricsTimeout = absl::Seconds(1);

// How long a client's attempt to connect may take: a name, TCP and HTTP/2's first words, from far
// away and beside much else. Then its pauses between attempts.
inline constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
inline constexpr absl::Duration kMinReconnectBackoff = absl::Milliseconds(100);
inline constexpr absl::Duration kMaxReconnectBackoff = absl::Seconds(5);

// Between NOT_SERVING and the end of the streams: load balancers need this long to see it.
inline constexpr absl::Duration kDrainDelay = absl::Seconds(5);
// Calls that are unanswered this long after the drain are answered: UNAVAILABLE if their work was
// not begun, else UNKNOWN (Server::Shutdown). The same again for those answers to go out.
inline constexpr absl::Duration kShutdownGrace = absl::Seconds(10);

// An error goes out in the trailers, of which clients take 8 KiB: longer messages are cut, further
// details left out. The message is there twice; its size is that in gRPC's encoding, three bytes
// for each byte that is not printable ASCII. Details count with their wrapping; some clients take
// them as base64.
inline constexpr size_t kMaxErrorMessageBytes = 1024;
inline constexpr size_t kMaxErrorDetailBytes = 4096;
// The path of a wrong field, and its description, are each cut to this, so that the first always
// fits.
inline constexpr size_t kMaxViolationBytes = 1024;
// A longer `x-request-id` is replaced by one of ours.
inline constexpr size_t kMaxRequestIdBytes = 128;
// Of the header `x-muster-reason`; what is longer is cut off.
inline constexpr size_t kMaxReasonBytes = 256;

// Access log lines of failed calls a second, and as many at once; more are counted, and told with
// the next line.
inline constexpr int kMaxFailureLinesPerSecond = 100;

// How many names of a batch the log line of a call tells; it tells the number of all.
inline constexpr size_t kMaxSubjectsTold = 3;

// Page sizes of every List*: 0 means the default, more than the most means the most.
inline constexpr int kDefaultPageSize = 100;
inline constexpr int kMaxPageSize = 1000;
// A page ends with the resource that brings it over so many bytes, so that every client can read it
// (gRPC's take 4 MiB unless told otherwise).
inline constexpr size_t kMaxPageBytes = 2 << 20;

// Messages of a watch that are bundled into one, and their size at most (but for the last of them).
inline constexpr int kMaxBundle = 1000;
inline constexpr size_t kMaxBundleBytes = 256 << 10;

}  // namespace muster::rpc
