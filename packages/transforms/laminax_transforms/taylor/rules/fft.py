"""Taylor series of Fourier transforms, which are linear."""

from laminax_ir.ops.fft import fft_p
from laminax_transforms.taylor.series import define_linear

define_linear(fft_p)
