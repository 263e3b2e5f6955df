#include "services/history/field_changes.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/message_differencer.h>
#include <google/protobuf/util/time_util.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::history {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;
using google::protobuf::util::TimeUtil;

// Empty: it is neither a time nor a duration.
std::string TimeText(const Message& message) {
  if (const auto* time = dynamic_cast<const google::protobuf::Timestamp*>(&message))
    return TimeUtil::ToString(*time);
  if (const auto* duration = dynamic_cast<const google::protobuf::Duration*>(&message))
    return TimeUtil::ToString(*duration);
  return "";
}

// Of what is within a message.
class TimePrinter final : public TextFormat::MessagePrinter {
 public:
  void Print(const Message& message, bool, TextFormat::BaseTextGenerator* out) const override {
    out->PrintString(absl::StrCat(TimeText(message), " "));
  }
};

// Of a whole message in one line.
const TextFormat::Printer& LinePrinter() {
  static const auto* const printer = [] {
    auto* made = new TextFormat::Printer;
    for (const auto* type :
         {google::protobuf::Timestamp::descriptor(), google::protobuf::Duration::descriptor()})
      made->RegisterMessagePrinter(type, new TimePrinter);  // the printer's from now on
    made->SetSingleLineMode(true);
    made->SetUseUtf8StringEscaping(true);
    return made;
  }();
  return *printer;
}

std::string TextOf(const Message& message) {
  if (std::string time = TimeText(message); !time.empty()) return time;
  std::string text;
  LinePrinter().PrintToString(message, &text);
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return absl::StrCat("{", text, "}");
}

// `at`: the element of a list; -1: the field is not a list.
std::string TextOf(const Message& message, const FieldDescriptor& field, int at) {
  const auto& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return TextOf(at < 0 ? reflection.GetMessage(message, &field)
                         : reflection.GetRepeatedMessage(message, &field, at));
  }
  if (field.type() == FieldDescriptor::TYPE_STRING) {
    return at < 0 ? reflection.GetString(message, &field)
                  : reflection.GetRepeatedString(message, &field, at);
  }
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, &field, at, &text);
  return text;
}

// Whether a message is told as one value, whichever part of it differs.
bool IsOneValue(const Message& message) {
  return message.GetDescriptor() == google::protobuf::Timestamp::descriptor() ||
         message.GetDescriptor() == google::protobuf::Duration::descriptor();
}

using Path = std::vector<MessageDifferencer::SpecificField>;

class Reporter final : public MessageDifferencer::Reporter {
 public:
  Reporter(std::vector<FieldChange>& changes, size_t most) : changes_(changes), most_(most) {}

  // The messages are those that the last step of the path is a field of.
  void ReportAdded(const Message& before, const Message& after, const Path& path) override {
    Add(before, after, path, false, true);
  }
  void ReportDeleted(const Message& before, const Message& after, const Path& path) override {
    Add(before, after, path, true, false);
  }
  void ReportModified(const Message& before, const Message& after, const Path& path) override {
    // The parts of a message were told already.
    const FieldDescriptor* field = path.back().field;
    if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) return;
    Add(before, after, path, true, true);
  }

 private:
  void Add(const Message& before, const Message& after, Path path, bool was, bool is) {
    // Fields that this build does not know are left out.
    if (changes_.size() >= most_ || path.empty() || path.back().field == nullptr) return;
    MessageDifferencer::SpecificField& last = path.back();
    // Which of the two entries a step holds depends on whether it was added, deleted or modified.
    if (last.field->is_map())
      last.map_entry1 =
          is ? &EntryAt(after, last, last.new_index) : &EntryAt(before, last, last.index);
    FieldChange change;
    if (path.size() > 1 && IsOneValue(after)) {
      path.pop_back();
      change = {PathOf(path), TextOf(before), TextOf(after)};
      if (!changes_.empty() && changes_.back() == change) return;
    } else {
      change = {PathOf(path), was ? ValueAt(before, last, last.index) : "",
                is ? ValueAt(after, last, last.new_index) : ""};
    }
    changes_.push_back(std::move(change));
  }

  // A map's entry is a message of two fields, whose step is left out: the path goes on with what is
  // within the value.
  static std::string PathOf(const Path& path) {
    std::vector<std::string> steps;
    for (const auto& step : path) {
      const bool within_entry = step.field->containing_type()->options().map_entry();
      if (within_entry) continue;
      std::string text = step.field->name();
      if (step.field->is_map()) {
        absl::StrAppend(&text, "[", KeyOf(step), "]");
      } else if (step.field->is_repeated()) {
        absl::StrAppend(&text, "[", step.new_index >= 0 ? step.new_index : step.index, "]");
      }
      steps.push_back(std::move(text));
    }
    return absl::StrJoin(steps, ".");
  }

  static std::string KeyOf(const MessageDifferencer::SpecificField& step) {
    const Message* entry = step.map_entry1;
    return entry == nullptr ? "" : TextOf(*entry, *entry->GetDescriptor()->map_key(), -1);
  }

  static const Message& EntryAt(const Message& message,
                                const MessageDifferencer::SpecificField& step, int at) {
    return message.GetReflection()->GetRepeatedMessage(message, step.field, at);
  }

  static std::string ValueAt(const Message& message, const MessageDifferencer::SpecificField& step,
                             int at) {
    if (!step.field->is_map())
      return TextOf(message, *step.field, step.field->is_repeated() ? at : -1);
    const Message& entry = EntryAt(message, step, at);
    return TextOf(entry, *entry.GetDescriptor()->map_value(), -1);
  }

  std::vector<FieldChange>& changes_;
  const size_t most_;
};

}  // namespace

std::vector<FieldChange> FieldChangesOf(const Message& before, const Message& after, size_t most) {
  std::vector<FieldChange> changes;
  Reporter reporter(changes, most);
  MessageDifferencer differencer;
  differencer.ReportDifferencesTo(&reporter);
  differencer.Compare(before, after);
  return changes;
}

}  // namespace muster::history
