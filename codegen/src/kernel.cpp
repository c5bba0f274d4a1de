// The entry function: its parameters, what every place in the kernel may use, and its end.

#include <fmt/format.h>

#include <algorithm>

#include "lowering.h"

namespace pk::codegen {
namespace {

constexpr int map_bytes = 128, map_alignment = 64;

/// Named barriers: 0 for the block, then one for each pk thread.
int first_free_barrier(const ir::Kernel& kernel) {
  return kernel.thread_count() == 1 ? 1 : static_cast<int>(kernel.thread_count()) + 1;
}

}  // namespace

Lowering::Lowering(const ir::Kernel& kernel, const Options& options, std::set<const ir::Inst*>& by_lanes,
                   llvm::Module& module, Manifest& manifest)
    : kernel_(kernel),
      options_(options),
      by_lanes_(by_lanes),
      module_(module),
      manifest_(manifest),
      builder_(module.getContext()),
      entry_(module.getContext()),
      roots_of_(kernel),
      divisors_(kernel),
      layouts_(kernel),
      shared_plan_(kernel, roots_of_, divisors_, layouts_, options.target, first_free_barrier(kernel)),
      values_(kernel.values.size()) {
  next_barrier_ = shared_plan_.barriers_used();
  for (std::int64_t t = 0; t < kernel.thread_count(); ++t) threads_.push_back(static_cast<int>(t));
  for_each_inst(kernel.body, [&](const ir::Inst& inst) {
    uses_mma_ = uses_mma_ || inst.op == ir::Op::wgmma;
    used_.insert(inst.operands.begin(), inst.operands.end());
    if (inst.op == ir::Op::peer) peers_use_.insert(roots_of_(inst.operands[0]));
    if (inst.op == ir::Op::alloc && type(inst.results[0]).space == ir::Space::cluster_barrier)
      peers_use_.insert(inst.results[0]);
    if (inst.op == ir::Op::copy_gmem_to_smem && !inst.attrs.integers(ir::Attr::axes).empty())
      peers_use_.insert(roots_of_(inst.operands[2]));
  });
}

void Lowering::run() {
  make_function();
  read_hardware();
  lower_region(kernel_.body);
  if (remote_arrivals_) meet_cluster();  // a block must not end while others can reach its memory
  finish();
}

void Lowering::make_function() {
  const auto add = [&](EntryParam::Kind kind, std::size_t index) {
    manifest_.params.push_back({kind, static_cast<int>(index)});
  };
  using Kind = EntryParam::Kind;
  std::vector<llvm::Type*> types;
  llvm::Type* pointer = llvm::PointerType::get(module_.getContext(), 1);
  for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
    const bool is_scalar = kernel_.params[i].type.is_scalar();
    add(is_scalar ? Kind::scalar : Kind::pointer, i);
    types.push_back(is_scalar ? b().getIntNTy(static_cast<unsigned>(ir::info(kernel_.params[i].type.dtype).bits))
                              : pointer);
  }
  for (std::size_t i = 0; i < kernel_.dims.size(); ++i) add(Kind::dim, i), types.push_back(b().getInt64Ty());
  for (std::size_t i = 0; i < kernel_.axes.size(); ++i) {
    if (kernel_.axes[i].size < 0) add(Kind::extent, i), types.push_back(b().getInt64Ty());
  }
  std::int64_t computed = 0;
  for (const ir::Param& param : kernel_.params) {
    for (const ir::ParamDim& dim : param.dims) {
      if (dim.kind == ir::ParamDim::Kind::computed) computed = std::max(computed, dim.value + 1);
    }
  }
  computed_.assign(static_cast<std::size_t>(computed), nullptr);
  for (const ir::Param& param : kernel_.params) {
    for (const ir::ParamDim& dim : param.dims) {
      const auto at = static_cast<std::size_t>(dim.value);
      if (dim.kind != ir::ParamDim::Kind::computed || computed_[at] != nullptr) continue;
      computed_[at] = i64(0);  // taken; the argument replaces it below
      add(Kind::computed, at), types.push_back(b().getInt64Ty());
    }
  }
  add(Kind::semaphores, 0), types.push_back(pointer);
  add(Kind::report, 0), types.push_back(pointer);
  // Tensor maps are found while lowering: `finish` makes the function that has them, too.
  function_ = llvm::Function::Create(llvm::FunctionType::get(b().getVoidTy(), types, false),
                                     llvm::GlobalValue::InternalLinkage, kernel_.name + ".body", module_);
  shared_ = new llvm::GlobalVariable(module_, llvm::ArrayType::get(b().getInt8Ty(), 0), false,
                                     llvm::GlobalValue::ExternalLinkage, nullptr, "smem", nullptr,
                                     llvm::GlobalValue::NotThreadLocal, 3);
  shared_->setAlignment(llvm::Align(ir::shared_alignment));
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(module_.getContext(), "entry", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(module_.getContext(), "body", function_);
  entry_.SetInsertPoint(entry);
  entry_.SetInsertPoint(entry_.CreateBr(body));
  builder_.SetInsertPoint(body);
  scratch_stride_ = new llvm::LoadInst(b().getInt32Ty(), shared_, "scratch_stride", entry_.GetInsertPoint());
  bind_params();
}

void Lowering::bind_params() {
  extents_.assign(kernel_.axes.size(), nullptr);
  for (std::size_t i = 0; i < kernel_.axes.size(); ++i) extents_[i] = i64(kernel_.axes[i].size);
  dims_.assign(kernel_.dims.size(), nullptr);
  param_values_.assign(kernel_.params.size(), nullptr);
  for (std::size_t i = 0; i < manifest_.params.size(); ++i) {
    const EntryParam& param = manifest_.params[i];
    const auto index = static_cast<std::size_t>(param.index);
    llvm::Argument* argument = function_->getArg(static_cast<unsigned>(i));
    switch (param.kind) {
      case EntryParam::Kind::pointer:
        if (kernel_.params[index].mode == ir::Mode::in) {
          argument->addAttr(llvm::Attribute::NoAlias);
          argument->addAttr(llvm::Attribute::ReadOnly);
        }
        [[fallthrough]];
      case EntryParam::Kind::scalar:
        argument->setName(kernel_.params[index].name);
        param_values_[index] = argument;
        break;
      case EntryParam::Kind::dim:
        argument->setName(kernel_.dims[index]);
        dims_[index] = argument;
        break;
      case EntryParam::Kind::extent:
        extents_[index] = argument;
        break;
      case EntryParam::Kind::computed:
        computed_[index] = argument;
        break;
      case EntryParam::Kind::semaphores:
        semaphores_ = argument;
        break;
      case EntryParam::Kind::report:
        report_ = argument;
        break;
      case EntryParam::Kind::tensor_map:
        break;
    }
  }
  int next_id = scratch_root + 1;
  for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
    const ir::Param& param = kernel_.params[i];
    const ir::Value value = kernel_.body.args[i];
    if (param.type.is_scalar()) {
      const ir::Dtype dtype = param.type.dtype;
      llvm::Value* bits = param_values_[i];
      set(value, dtype == ir::Dtype::boolean ? b().CreateICmpNE(bits, b().getInt8(0))
                                             : b().CreateBitCast(bits, llvm_type(dtype)));
      continue;
    }
    Root& root = roots_.emplace_back();
    root.dtype = param.type.dtype;
    root.value = value;
    root.id = next_id++;
    root.param = static_cast<int>(i);
    root.pointer = param_values_[i];
    Ref ref{&root, {}, {}, {}, nullptr};
    for (std::size_t a = 0; a < param.dims.size(); ++a) {
      const ir::ParamDim& dim = param.dims[a];
      const auto at = static_cast<std::size_t>(dim.value);
      const bool constant = dim.kind == ir::ParamDim::Kind::constant;
      llvm::Value* length = constant                                 ? static_cast<llvm::Value*>(i64(dim.value))
                            : dim.kind == ir::ParamDim::Kind::symbol ? dims_[at]
                                                                     : computed_[at];
      root.extents.push_back(length);
      root.static_extents.push_back(constant ? dim.value : ir::dynamic_extent);
      root.extent_divisors.push_back(constant                                 ? dim.value
                                     : dim.kind == ir::ParamDim::Kind::symbol ? divisors_.of_dim(at)
                                                                              : 1);
      ref.axes.push_back({a, root.static_extents.back(), length});
      ref.starts.push_back(i64(0));
      ref.start_divisors.push_back(0);
    }
    root_ids_[value] = root.id;
    set(value, ref);
  }
}

llvm::Value* Lowering::scratch(std::int64_t bytes, const ir::Inst*) {
  scratch_bytes_ = std::max(scratch_bytes_, (bytes + 15) / 16 * 16);
  const std::int64_t start = (shared_plan_.bytes() + 15) / 16 * 16;
  return b().CreateAdd(b().CreateMul(thread_, scratch_stride_), i32(start));
}

// Moves the body into a function that has the tensor maps among its parameters, and settles what is known only now.
void Lowering::finish() {
  b().CreateRetVoid();
  scratch_stride_->replaceAllUsesWith(i32(scratch_bytes_));
  scratch_stride_->eraseFromParent();
  manifest_.shared_bytes = shared_plan_.bytes();
  if (scratch_bytes_ > 0)
    manifest_.shared_bytes = (manifest_.shared_bytes + 15) / 16 * 16 + scratch_bytes_ * kernel_.thread_count();
  if (manifest_.shared_bytes > options_.target.shared_memory_bytes) {
    throw Unsupported{
        {kernel_.span, {}},
        fmt::format("`{}` takes {} bytes of shared memory, {} of them for moving tiles between lanes; {} has {}",
                    kernel_.name, manifest_.shared_bytes, scratch_bytes_ * kernel_.thread_count(), options_.target.name,
                    options_.target.shared_memory_bytes)};
  }
  manifest_.semaphore_bytes = semaphore_bytes_;
  std::vector<llvm::Type*> types;
  for (const llvm::Argument& argument : function_->args()) types.push_back(argument.getType());
  llvm::PointerType* generic = llvm::PointerType::get(module_.getContext(), 0);
  for (std::size_t i = 0; i < manifest_.tensor_maps.size(); ++i) {
    types.push_back(generic);
    manifest_.params.push_back({EntryParam::Kind::tensor_map, static_cast<int>(i)});
  }
  llvm::Function* entry = llvm::Function::Create(llvm::FunctionType::get(b().getVoidTy(), types, false),
                                                 llvm::GlobalValue::ExternalLinkage, manifest_.entry, module_);
  entry->setCallingConv(llvm::CallingConv::PTX_Kernel);
  entry->addFnAttr(llvm::Attribute::NoUnwind);
  entry->splice(entry->begin(), function_);
  llvm::LLVMContext& context = module_.getContext();
  for (llvm::Argument& old : function_->args()) {
    llvm::Argument* mine = entry->getArg(old.getArgNo());
    mine->takeName(&old);
    for (const llvm::Attribute attribute : function_->getAttributes().getParamAttrs(old.getArgNo()))
      mine->addAttr(attribute);
    old.replaceAllUsesWith(mine);
  }
  llvm::Type* map_type = llvm::StructType::get(llvm::ArrayType::get(b().getInt64Ty(), map_bytes / 8));
  std::vector<llvm::Metadata*> maps;
  for (std::size_t i = 0; i < manifest_.tensor_maps.size(); ++i) {
    llvm::Argument* argument = entry->getArg(static_cast<unsigned>(function_->arg_size() + i));
    argument->addAttr(llvm::Attribute::getWithByValType(context, map_type));
    argument->addAttr(llvm::Attribute::getWithAlignment(context, llvm::Align(map_alignment)));
    llvm::GlobalVariable* stand_in = module_.getNamedGlobal(fmt::format("map.{}", i));
    stand_in->replaceAllUsesWith(argument);
    stand_in->eraseFromParent();
    maps.push_back(llvm::ConstantAsMetadata::get(i32(argument->getArgNo() + 1)));
  }
  function_->eraseFromParent();
  llvm::NamedMDNode* annotations = module_.getOrInsertNamedMetadata("nvvm.annotations");
  const auto annotate = [&](const char* name, llvm::Metadata* value) {
    annotations->addOperand(
        llvm::MDNode::get(context, {llvm::ConstantAsMetadata::get(entry), llvm::MDString::get(context, name), value}));
  };
  annotate("maxntidx", llvm::ConstantAsMetadata::get(i32(manifest_.lanes_per_block)));
  annotate("minctasm", llvm::ConstantAsMetadata::get(i32(1)));
  if (!maps.empty()) annotate("grid_constant", llvm::MDNode::get(context, maps));
}

int Lowering::tensor_map(const TensorMap& map) {
  const auto known = std::find(manifest_.tensor_maps.begin(), manifest_.tensor_maps.end(), map);
  const auto number = static_cast<int>(known - manifest_.tensor_maps.begin());
  if (known != manifest_.tensor_maps.end()) return number;
  manifest_.tensor_maps.push_back(map);
  new llvm::GlobalVariable(module_, b().getInt8Ty(), true, llvm::GlobalValue::ExternalLinkage, nullptr,
                           fmt::format("map.{}", number));
  return number;
}

llvm::Value* Lowering::tensor_map_address(int number) { return module_.getNamedGlobal(fmt::format("map.{}", number)); }

}  // namespace pk::codegen
