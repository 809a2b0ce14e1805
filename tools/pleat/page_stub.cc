#include "tools/pleat/analysis_chart.h"
#include "tools/pleat/analysis_page.h"
namespace pleat::inline v0 {
std::string AnalysisPage(std::span<const KeyAnalysis>, std::string_view) { return ""; }
std::string AnalysisSvg(std::span<const KeyAnalysis>) { return ""; }
}  // namespace pleat::inline v0
