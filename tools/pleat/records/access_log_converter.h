// The access log of a web server, in the common or the combined log format, which Apache and nginx
// write by default:
//
//   [VHOST] HOST IDENT USER [TIME] "METHOD PATH?QUERY PROTOCOL" STATUS BYTES ["REFERER" "AGENT" [EXTRA]]
//
// PATH?QUERY as a whole is the url. A user may have spaces, and so may a URL. Text in quotes stays as
// the log has it, escapes included: /\xD0\xB0 is the path that people see there. `-` is null. A
// request that is neither so nor of three words, as scanners send them, is one text. EXTRA is all that
// follows: of one value a number if it is plain decimal, or the text without its quotes; of several one text.
#pragma once

#include <string>
#include <string_view>

#include "tools/pleat/records/line_converter.h"

namespace pleat::cli {

class AccessLogConverter final : public LineConverter {
 private:
  std::string_view AppendObject(std::string_view record, std::string& out) override;
};

}  // namespace pleat::cli
