// Words about programs of torch.export: rules judge the run that exports one, and server/exported judges its file.
#pragma once

namespace castscope::rules {

inline constexpr char kExportDropsRegion[] = "export-drops-region";
inline constexpr char kExportCheckFails[] = "export-check-fails";
inline constexpr char kExportSeverity[] = "error";  // for both

inline constexpr char kExportDropsRegionFix[] =
    "Open the region inside the model's forward, which torch.export keeps, or convert the model and its inputs "
    "(model.to(torch.bfloat16), x.to(torch.bfloat16)), and export again outside of any region. The program then "
    "computes in low precision.";
inline constexpr char kExportCheckFailsFix[] =
    "Export with strict=False, which records the dtypes that the region gives, or leave out the conversion (.float(), "
    ".to(…)) of what comes from the region.";
inline constexpr char kExportTwoDtypesFix[] =
    "Convert one of the two in the model before they meet, or open a region around them inside its forward, and export "
    "again outside of any region.";

}  // namespace castscope::rules
