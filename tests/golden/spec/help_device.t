-- RUN: help h100-sxm
-- >>> exit 0
h100-sxm: a device
    NVIDIA H100 SXM5 80GB. Dense peaks of the data sheet; memory as nvidia-smi
    shows it. host_link: PCIe 5.0 x16. What it sustains: two training steps on
    one part at its limit of 700 W, where products run at 0.91 of the best that
    stand-alone tests find (docs/measurements/expected.md). switch_sums:
    all-reduces inside NVSwitches, 482 GB/s of bus bandwidth on 8 H200
    (stas00/ml-engineering at 744d01e18b79, network/benchmarks): each rank sends
    all bytes once, 8/14 of that.
    cluster = { ..., device = "h100-sxm" }
    file SPECS/devices/h100-sxm.lua
