// Element types in LLVM: of values, of memory, and constants of them.

#include "lowering.h"
#include "pk/ir/numerics.h"

namespace pk::codegen {

using ir::Dtype;

llvm::Type* Lowering::llvm_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean:
      return b().getInt1Ty();
    case Dtype::f16:
      return b().getHalfTy();
    case Dtype::bf16:
      return b().getBFloatTy();
    case Dtype::f32:
      return b().getFloatTy();
    case Dtype::f64:
      return b().getDoubleTy();
    case Dtype::i8:
    case Dtype::i16:
    case Dtype::i32:
    case Dtype::i64:
    case Dtype::u8:
    case Dtype::u16:
    case Dtype::u32:
    case Dtype::u64:
    case Dtype::f8e4m3:
    case Dtype::f8e5m2:
    case Dtype::index:
      break;
  }
  return b().getIntNTy(static_cast<unsigned>(ir::info(dtype).bits));
}

llvm::Value* Lowering::constant(Dtype dtype, double real, std::int64_t integer) {
  const ir::Scalar value =
      ir::is_floating(dtype) ? ir::Scalar::of_double(dtype, real) : ir::Scalar::of_int(dtype, integer);
  llvm::Type* type = llvm_type(dtype);
  llvm::Constant* bits = llvm::ConstantInt::get(b().getIntNTy(type->getScalarSizeInBits()), value.bits);
  return type->isIntegerTy() ? bits : llvm::ConstantExpr::getBitCast(bits, type);
}

llvm::Value* Lowering::narrow(llvm::Value* index) { return b().CreateTrunc(index, b().getInt32Ty()); }

llvm::AllocaInst* Lowering::slot(llvm::Type* type, const llvm::Twine& name) {
  return entry_.CreateAlloca(type, nullptr, name);
}

llvm::Value* Lowering::to_memory(llvm::Value* value, Dtype dtype) {
  return dtype == Dtype::boolean ? b().CreateZExt(value, b().getInt8Ty()) : value;
}

llvm::Value* Lowering::from_memory(llvm::Value* value, Dtype dtype) {
  return dtype == Dtype::boolean ? b().CreateICmpNE(value, b().getInt8(0)) : value;
}

llvm::Value* Lowering::scalar(ir::Value v) { return std::get<llvm::Value*>(values_[v.id]); }

}  // namespace pk::codegen
