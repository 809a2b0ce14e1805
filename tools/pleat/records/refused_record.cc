#include "tools/pleat/records/refused_record.h"

namespace pleat::cli {

void AppendRefused(std::string_view reason, std::string_view record, std::string& out) {
  out += '\0';
  out += reason;
  out += '\0';
  for (const char c : record.substr(0, kRefusedBytesKept)) {
    if (c == '\n' || c == '\\') out += '\\';
    out += c == '\n' ? 'n' : c;
  }
}

std::optional<RefusedRecord> ReadRefused(std::string_view line) {
  if (!line.starts_with('\0')) return std::nullopt;
  line.remove_prefix(1);
  const size_t end = line.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  RefusedRecord refused{line.substr(0, end), ""};
  for (size_t i = end + 1; i < line.size(); ++i) {
    const bool escaped = line[i] == '\\' && i + 1 < line.size();
    if (escaped) ++i;
    refused.record += escaped && line[i] == 'n' ? '\n' : line[i];
  }
  return refused;
}

}  // namespace pleat::cli
