// The manifest as JSON.

#include <nlohmann/json.hpp>

#include "pk/codegen/codegen.h"

namespace pk::codegen {
namespace {

using nlohmann::json;

std::string_view spelling(EntryParam::Kind kind) {
  switch (kind) {
    case EntryParam::Kind::pointer:
      return "pointer";
    case EntryParam::Kind::scalar:
      return "scalar";
    case EntryParam::Kind::dim:
      return "dimension";
    case EntryParam::Kind::extent:
      return "mesh_extent";
    case EntryParam::Kind::computed:
      return "computed_extent";
    case EntryParam::Kind::tensor_map:
      return "tensor_map";
    case EntryParam::Kind::semaphores:
      return "semaphores";
    case EntryParam::Kind::report:
      return "report";
  }
  return "";
}

json describe(const ir::Kernel& kernel, const Manifest& manifest, const EntryParam& param) {
  const auto index = static_cast<std::size_t>(param.index);
  json row{{"kind", spelling(param.kind)}};
  switch (param.kind) {
    case EntryParam::Kind::pointer:
    case EntryParam::Kind::scalar:
      row["name"] = kernel.params[index].name;
      row["dtype"] = ir::spelling(kernel.params[index].type.dtype);
      break;
    case EntryParam::Kind::dim:
      row["name"] = kernel.dims[index];
      break;
    case EntryParam::Kind::extent:
      row["name"] = kernel.axes[index].name;
      break;
    case EntryParam::Kind::tensor_map: {
      const TensorMap& map = manifest.tensor_maps[index];
      const ir::Param& array = kernel.params[static_cast<std::size_t>(map.param)];
      row["name"] = array.name;
      row["dtype"] = ir::spelling(array.type.dtype);
      row["box"] = map.box;
      row["swizzle"] = map.swizzle;
      row["fill"] = map.fill_nan ? "nan" : "zero";
      break;
    }
    case EntryParam::Kind::computed:
      row["number"] = param.index;
      break;
    case EntryParam::Kind::semaphores:
      row["bytes"] = manifest.semaphore_bytes;
      break;
    case EntryParam::Kind::report:
      break;
  }
  return row;
}

}  // namespace

std::string to_json(const ir::Kernel& kernel, const Manifest& manifest) {
  json out{{"entry", manifest.entry},
           {"target", manifest.target},
           {"shared_bytes", manifest.shared_bytes},
           {"threads_per_block", manifest.lanes_per_block},
           {"cluster_size", manifest.cluster_size},
           {"pointer_alignment", manifest.pointer_alignment},
           {"params", json::array()}};
  for (const EntryParam& param : manifest.params) out["params"].push_back(describe(kernel, manifest, param));
  for (const auto& [name, value] : kernel.bindings) out["bindings"][name] = value;
  return out.dump(2) + "\n";
}

}  // namespace pk::codegen
