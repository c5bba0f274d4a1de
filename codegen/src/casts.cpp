// Conversions between element types, bit for bit those of the table of numeric semantics (pk/ir/float_formats.h).

#include "lowering.h"

namespace pk::codegen {

using ir::Dtype;

namespace {

bool is_fp8(Dtype t) { return t == Dtype::f8e4m3 || t == Dtype::f8e5m2; }
bool is_small_float(Dtype t) { return is_fp8(t) || t == Dtype::f16 || t == Dtype::bf16; }

/// A float of any narrow type as f32, exactly.
llvm::Value* widen(Lowering& l, llvm::Value* x, Dtype from) {
  Builder& b = l.b();
  if (from == Dtype::f32) return x;
  if (!is_fp8(from)) return b.CreateFPExt(x, b.getFloatTy());
  const char* text = from == Dtype::f8e4m3 ? "cvt.rn.f16x2.e4m3x2 $0, $1;" : "cvt.rn.f16x2.e5m2x2 $0, $1;";
  llvm::Value* pair = l.pure_assembly(text, "=r,h", {b.CreateZExt(x, b.getInt16Ty())}, b.getInt32Ty());
  llvm::Value* half = b.CreateBitCast(b.CreateTrunc(pair, b.getInt16Ty()), b.getHalfTy());
  return b.CreateFPExt(half, b.getFloatTy());
}

/// Rounds an f32 to a narrow float, to nearest even; 8-bit formats saturate.
llvm::Value* round_to(Lowering& l, llvm::Value* x, Dtype to) {
  Builder& b = l.b();
  if (to == Dtype::f32) return x;
  if (!is_fp8(to)) return b.CreateFPTrunc(x, l.llvm_type(to));
  const char* text =
      to == Dtype::f8e4m3 ? "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;" : "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;";
  llvm::Value* zero = llvm::ConstantFP::get(b.getFloatTy(), 0.0);
  return b.CreateTrunc(l.pure_assembly(text, "=h,f,f", {zero, x}, b.getInt16Ty()), b.getInt8Ty());
}

/// Marks an inexact f32 by its last bit, so that rounding it once more gives what rounding the original would have.
llvm::Value* mark_inexact(Lowering& l, llvm::Value* truncated, llvm::Value* inexact) {
  Builder& b = l.b();
  llvm::Value* bits = b.CreateBitCast(truncated, b.getInt32Ty());
  return b.CreateBitCast(b.CreateOr(bits, b.CreateZExt(inexact, b.getInt32Ty())), b.getFloatTy());
}

llvm::Value* f64_to_odd(Lowering& l, llvm::Value* x) {
  Builder& b = l.b();
  llvm::Value* down = b.CreateIntrinsic(llvm::Intrinsic::nvvm_d2f_rz, {}, {x});
  return mark_inexact(l, down, b.CreateFCmpONE(b.CreateFPExt(down, b.getDoubleTy()), x));
}

llvm::Value* integer_to_odd(Lowering& l, llvm::Value* x, bool is_signed) {
  Builder& b = l.b();
  llvm::Value* wide = is_signed ? b.CreateSExt(x, b.getInt64Ty()) : b.CreateZExt(x, b.getInt64Ty());
  llvm::Value* zero = b.getInt64(0);
  llvm::Value* negative = is_signed ? b.CreateICmpSLT(wide, zero) : static_cast<llvm::Value*>(b.getFalse());
  llvm::Value* magnitude = b.CreateSelect(negative, b.CreateSub(zero, wide), wide);
  llvm::Value* down = b.CreateIntrinsic(llvm::Intrinsic::nvvm_ull2f_rz, {}, {magnitude});
  llvm::Value* back = b.CreateFPToUI(down, b.getInt64Ty());
  llvm::Value* odd = mark_inexact(l, down, b.CreateICmpNE(back, magnitude));
  return b.CreateSelect(negative, b.CreateFNeg(odd), odd);
}

llvm::Value* to_integer(Lowering& l, llvm::Value* x, Dtype to) {
  const auto id = ir::is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return l.b().CreateIntrinsic(id, {l.llvm_type(to), x->getType()}, {x});
}

}  // namespace

llvm::Value* Lowering::cast_value(llvm::Value* value, Dtype from, Dtype to) {
  if (from == to) return value;
  if (from == Dtype::boolean) return cast_value(b().CreateZExt(value, b().getInt32Ty()), Dtype::i32, to);
  const bool is_float = ir::is_floating(from);
  llvm::Value* x = is_small_float(from) ? widen(*this, value, from) : value;
  if (to == Dtype::boolean) {
    llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
    return is_float ? b().CreateFCmpUNE(x, zero) : b().CreateICmpNE(x, zero);
  }
  if (ir::is_integer(to)) {
    if (is_float) return to_integer(*this, x, to);
    return ir::is_signed(from) ? b().CreateSExtOrTrunc(x, llvm_type(to)) : b().CreateZExtOrTrunc(x, llvm_type(to));
  }
  if (is_float) {
    if (to == Dtype::f64) return b().CreateFPExt(x, b().getDoubleTy());
    if (from == Dtype::f64)
      return to == Dtype::f32 ? b().CreateFPTrunc(x, b().getFloatTy()) : round_to(*this, f64_to_odd(*this, x), to);
    return round_to(*this, x, to);
  }
  if (is_small_float(to)) return round_to(*this, integer_to_odd(*this, x, ir::is_signed(from)), to);
  return ir::is_signed(from) ? b().CreateSIToFP(x, llvm_type(to)) : b().CreateUIToFP(x, llvm_type(to));
}

llvm::Value* Lowering::bitcast_value(llvm::Value* value, Dtype from, Dtype to) {
  if (from == to) return value;
  if (from == Dtype::boolean) value = b().CreateZExt(value, b().getInt8Ty());
  if (to == Dtype::boolean) return b().CreateICmpNE(b().CreateBitCast(value, b().getInt8Ty()), b().getInt8(0));
  return b().CreateBitCast(value, llvm_type(to));
}

}  // namespace pk::codegen
