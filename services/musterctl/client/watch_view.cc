#include "services/musterctl/client/watch_view.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

namespace muster::musterctl {
namespace {

// The same bytes for the same content: maps are written in order of their keys.
std::string Bytes(const Item& item) {
  std::string bytes;
  google::protobuf::io::StringOutputStream raw(&bytes);
  google::protobuf::io::CodedOutputStream out(&raw);
  out.SetSerializationDeterministic(true);
  std::visit([&](const auto& resource) { (void)resource.SerializeToCodedStream(&out); }, item);
  out.Trim();
  return bytes;
}

}  // namespace

type::v1::WatchStart WatchView::Begin() {
  snapshot_.clear();
  return start_;
}

void WatchView::GoOnAfter(const WatchMessage& message) {
  start_.set_after_revision(message.revision);
  if (!message.incarnation.empty()) start_.set_incarnation(message.incarnation);
  if (!message.view.empty()) start_.set_view(message.view);
}

bool WatchView::Remember(const Item& item) {
  std::string bytes = Bytes(item);
  std::string& known = known_[NameOf(item)];
  if (known == bytes) return false;
  known = std::move(bytes);
  return true;
}

std::vector<WatchView::Change> WatchView::EndSnapshot() {
  std::vector<Change> changes;
  for (auto it = known_.begin(); it != known_.end();) {
    if (snapshot_.contains(it->first)) {
      ++it;
    } else {
      changes.push_back({.name = it->first});
      it = known_.erase(it);
    }
  }
  for (auto& [name, item] : snapshot_) {
    if (Remember(item)) changes.push_back({.name = name, .item = std::move(item)});
  }
  snapshot_.clear();
  return changes;
}

std::vector<WatchView::Change> WatchView::Feed(const WatchMessage& message) {
  if (message.type == type::v1::WATCH_EVENT_TYPE_SNAPSHOT) {
    if (message.item) snapshot_[NameOf(*message.item)] = *message.item;
    return {};
  }
  GoOnAfter(message);
  if (message.type == type::v1::WATCH_EVENT_TYPE_SNAPSHOT_END) return EndSnapshot();
  if (message.item) {
    if (!Remember(*message.item)) return {};
    return {{.name = NameOf(*message.item), .item = message.item}};
  }
  if (message.type != type::v1::WATCH_EVENT_TYPE_DELETED || known_.erase(message.key) == 0)
    return {};
  return {{.name = message.key}};
}

}  // namespace muster::musterctl
