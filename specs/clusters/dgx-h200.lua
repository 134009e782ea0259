-- NVIDIA DGX H200: as DGX H100 with larger memory. Rates are one way, per GPU.
return { "dgx-h100", device = "h200-sxm" }
