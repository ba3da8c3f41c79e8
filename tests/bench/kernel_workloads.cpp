#include "tests/bench/kernel_workloads.hpp"

#include <array>

namespace overlap::bench {
namespace {

constexpr auto kBytes = WorkloadData::bytes;
constexpr auto kF16 = WorkloadData::f16;
constexpr auto kF32 = WorkloadData::f32;

// Images of 4096 x 4096 gray pixels have 16 MiB, of 256 x 256 64 KiB; of RGB as many whole rows as
// fit; frames to transpose are as large.
constexpr std::array kWorkloads = {
    KernelWorkload{"copy", "copy", "copy", kBytes},
    KernelWorkload{"scale f32", "scale:a=2,b=1", "scale:a=2,b=1", kF32},
    KernelWorkload{"scale u8", "scale:a=2,b=1,type=u8", "scale:a=2,b=1,type=u8", kBytes},
    KernelWorkload{"saxpy", "saxpy:a=2", "saxpy:a=2", kF32},
    KernelWorkload{"vector_add", "vector_add", "vector_add", kF32},
    KernelWorkload{"convert u8 to f32", "convert:from=u8,to=f32", "convert:from=u8,to=f32", kBytes},
    KernelWorkload{"convert f32 to u8", "convert:from=f32,to=u8,scale=255",
                   "convert:from=f32,to=u8,scale=255", kF32},
    KernelWorkload{"convert f16 to f32", "convert:from=f16,to=f32", "convert:from=f16,to=f32",
                   kF16},
    KernelWorkload{"reduce sum, whole job", "reduce:op=sum", "reduce:op=sum", kF32},
    KernelWorkload{"reduce sum of 1024", "reduce:op=sum,length=1024", "reduce:op=sum,length=1024",
                   kF32},
    KernelWorkload{"histogram u8", "histogram", "histogram", kBytes},
    KernelWorkload{"histogram f32", "histogram:type=f32", "histogram:type=f32", kF32},
    KernelWorkload{"transpose of 1", "transpose:rows=4096,cols=4096,element_bytes=1",
                   "transpose:rows=256,cols=256,element_bytes=1", kBytes},
    KernelWorkload{"transpose of 2", "transpose:rows=4096,cols=2048,element_bytes=2",
                   "transpose:rows=256,cols=128,element_bytes=2", kBytes},
    KernelWorkload{"transpose of 4", "transpose:rows=2048,cols=2048,element_bytes=4",
                   "transpose:rows=128,cols=128,element_bytes=4", kBytes},
    KernelWorkload{"transpose of 8", "transpose:rows=2048,cols=1024,element_bytes=8",
                   "transpose:rows=128,cols=64,element_bytes=8", kBytes},
    KernelWorkload{"transpose of 16", "transpose:rows=1024,cols=1024,element_bytes=16",
                   "transpose:rows=64,cols=64,element_bytes=16", kBytes},
    KernelWorkload{"grayscale RGB", "grayscale:width=4096,height=1365,channels=3",
                   "grayscale:width=256,height=85,channels=3", kBytes},
    KernelWorkload{"grayscale RGBA", "grayscale:width=2048,height=2048,channels=4",
                   "grayscale:width=128,height=128,channels=4", kBytes},
    KernelWorkload{"sobel", "sobel:width=4096,height=4096", "sobel:width=256,height=256", kBytes},
    KernelWorkload{"gaussian_blur sigma 1.5",
                   "gaussian_blur:width=4096,height=4096,channels=1,sigma=1.5",
                   "gaussian_blur:width=256,height=256,channels=1,sigma=1.5", kBytes},
    KernelWorkload{"gaussian_blur sigma 1.5 RGB",
                   "gaussian_blur:width=4096,height=1365,channels=3,sigma=1.5",
                   "gaussian_blur:width=256,height=85,channels=3,sigma=1.5", kBytes},
    KernelWorkload{"gaussian_blur sigma 5",
                   "gaussian_blur:width=4096,height=4096,channels=1,sigma=5",
                   "gaussian_blur:width=256,height=256,channels=1,sigma=5", kBytes},
    KernelWorkload{"resize 2x down",
                   "resize:width=4096,height=4096,channels=1,out_width=2048,out_height=2048",
                   "resize:width=256,height=256,channels=1,out_width=128,out_height=128", kBytes},
    KernelWorkload{"resize 2x up",
                   "resize:width=4096,height=4096,channels=1,out_width=8192,out_height=8192",
                   "resize:width=256,height=256,channels=1,out_width=512,out_height=512", kBytes},
    KernelWorkload{"lut", "lut:channels=1", "lut:channels=1", kBytes},
    KernelWorkload{"lut RGBA, a table each", "lut:channels=4,per_channel=yes",
                   "lut:channels=4,per_channel=yes", kBytes},
    KernelWorkload{"fir 16 taps", "fir:taps=16", "fir:taps=16", kF32},
    KernelWorkload{"fir 64 taps", "fir:taps=64", "fir:taps=64", kF32},
    KernelWorkload{"fir 256 taps", "fir:taps=256", "fir:taps=256", kF32},
    KernelWorkload{"integrate 16 jobs", "integrate:count=16", "integrate:count=16", kF32, 16},
    KernelWorkload{"power_spectrum", "power_spectrum", "power_spectrum", kF32},
    KernelWorkload{"fft c2c 1024", "fft:n=1024,type=c2c", "fft:n=1024,type=c2c", kF32},
    KernelWorkload{"fft c2c 4096", "fft:n=4096,type=c2c", "fft:n=4096,type=c2c", kF32},
    KernelWorkload{"fft r2c 1024", "fft:n=1024,type=r2c", "fft:n=1024,type=r2c", kF32},
    KernelWorkload{"gemm k=n=256", "gemm:k=256,n=256", "gemm:k=256,n=256", kF32},
    KernelWorkload{"gemm k=n=1024", "gemm:k=1024,n=1024", "gemm:k=1024,n=1024", kF32},
};

}  // namespace

std::span<const KernelWorkload> kernel_workloads() noexcept { return kWorkloads; }

}  // namespace overlap::bench
