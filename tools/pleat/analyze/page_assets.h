// The style sheets and the script of the page, as in page/. The build writes page_assets.cc.
#pragma once

#include <string_view>

namespace pleat::cli {

extern const std::string_view kChartStyle;
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

// SHA-256 of the same, in hexadecimal digits.
extern const std::string_view kChartStyleDigest;
extern const std::string_view kPageStyleDigest;
extern const std::string_view kPageScriptDigest;

}  // namespace pleat::cli
