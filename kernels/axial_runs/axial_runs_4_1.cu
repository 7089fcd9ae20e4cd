// Axial runs for neighbouring planes four slices apart, images of up to about 128 slices.
#define CLASSES 4
#define REGISTERS 1
#include "adders.cuh"
#include "axial_path.cuh"
#include "axial_runs.cuh"
