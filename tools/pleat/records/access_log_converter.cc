#include "tools/pleat/records/access_log_converter.h"

#include <algorithm>
#include <optional>

#include <pleat/json_lines.h>

#include "tools/pleat/records/field_value.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kNoClient = "expected HOST IDENT USER before [TIME]";
constexpr std::string_view kNoTime = "expected [TIME]";
constexpr std::string_view kNoRequest = "expected a request in quotes behind [TIME]";
constexpr std::string_view kNoStatus = "expected STATUS and BYTES behind the request";

constexpr std::string_view kNone = "-";

std::string_view WithoutLeadingSpace(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
  return text;
}

std::string_view WithoutTrailingSpace(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
}

// The first word of `rest`, which is taken off with the white space behind.
std::string_view TakeWord(std::string_view& rest) {
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest = WithoutLeadingSpace(rest.substr(word.size()));
  return word;
}

// The same for a text in quotes, without them. A quote behind a backslash does not end it.
bool TakeQuoted(std::string_view& rest, std::string_view& text) {
  if (!rest.starts_with('"')) return false;
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '\\') {
      ++i;
    } else if (rest[i] == '"') {
      text = rest.substr(1, i - 1);
      rest = WithoutLeadingSpace(rest.substr(i + 1));
      return true;
    }
  }
  return false;
}

// The members of an object, one by one.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }

  void Add(std::string_view name, std::string_view text) {
    Name(name);
    if (text == kNone) {
      out_ += "null";
    } else {
      AppendJsonString(text, out_);
    }
  }
  void AddValue(std::string_view name, std::string_view text) {
    Name(name);
    AppendFieldValue(text == kNone ? std::string_view() : text, out_);
  }
  void End() { out_ += '}'; }

 private:
  void Name(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    AppendJsonString(name, out_);
    out_ += ':';
  }

  std::string& out_;
};

// HOST IDENT USER, or a VHOST before them. IDENT is `-` nearly always, which tells the two apart.
bool AddClient(std::string_view client, Members& members) {
  std::string_view host = TakeWord(client);
  std::string_view ident = TakeWord(client);
  if (ident != kNone && client.starts_with("- ")) {
    members.Add("vhost", host);
    host = ident;
    ident = TakeWord(client);
  }
  if (host.empty() || client.empty()) return false;
  members.Add("host", host);
  members.Add("ident", ident);
  members.Add("user", client);
  return true;
}

struct Request {
  std::string_view method;
  std::string_view url;
  std::string_view protocol;
};

// "GET", "M-SEARCH"; not the escapes that a log writes for what is no text.
bool IsMethod(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
  });
}

// Browsers escape the spaces of a URL, but other programs send them as they are: so all between the
// method and the protocol is the URL. Three words are read as these whatever they are.
std::optional<Request> ReadRequest(std::string_view text) {
  const bool three_words = std::ranges::count(text, ' ') == 2;
  std::string_view rest = text;
  const std::string_view method = TakeWord(rest);
  const size_t last = rest.rfind(' ') + 1;  // 0 if there is no space
  const std::string_view protocol = rest.substr(last);
  if (IsMethod(method) && protocol.starts_with("HTTP/")) {
    return Request{method, WithoutTrailingSpace(rest.substr(0, last)), protocol};
  }
  if (!three_words) return std::nullopt;
  const std::string_view url = TakeWord(rest);
  return Request{method, url, rest};
}

void AddRequest(std::string_view text, Members& members) {
  const std::optional<Request> request = ReadRequest(text);
  if (!request) return members.Add("request", text);
  const size_t mark = request->url.find('?');
  members.Add("method", request->method);
  members.Add("url", request->url);
  members.Add("path", request->url.substr(0, mark));
  if (mark != std::string_view::npos) members.Add("query", request->url.substr(mark + 1));
  members.Add("protocol", request->protocol);
}

// One value is as the others are: a number, such as nginx's $request_time, or a text without its quotes.
void AddExtra(std::string_view rest, Members& members) {
  std::string_view text, behind = rest;
  if (TakeQuoted(behind, text) && behind.empty()) rest = text;
  members.AddValue("extra", rest);
}

}  // namespace

std::string_view AccessLogConverter::AppendObject(std::string_view record, std::string& out) {
  std::string_view rest = WithoutTrailingSpace(WithoutLeadingSpace(record));
  Members members(out);

  const size_t open = rest.find(" [");
  if (open == std::string_view::npos) return kNoTime;
  if (!AddClient(WithoutTrailingSpace(rest.substr(0, open)), members)) {
    return kNoClient;
  }
  rest.remove_prefix(open + 2);
  const size_t close = rest.find(']');
  if (close == std::string_view::npos) return kNoTime;
  members.Add("time", rest.substr(0, close));
  rest = WithoutLeadingSpace(rest.substr(close + 1));

  std::string_view text;
  if (!TakeQuoted(rest, text)) return kNoRequest;
  AddRequest(text, members);
  const std::string_view status = TakeWord(rest);
  const std::string_view bytes = TakeWord(rest);
  if (bytes.empty()) return kNoStatus;
  members.AddValue("status", status);
  members.AddValue("bytes", bytes);

  if (TakeQuoted(rest, text)) members.Add("referer", text);
  if (TakeQuoted(rest, text)) members.Add("agent", text);
  if (!rest.empty()) AddExtra(rest, members);
  members.End();
  return {};
}

}  // namespace pleat::cli
