// Axial runs for neighbouring planes one slice apart, images of up to about 64 slices.
#define CLASSES 1
#define REGISTERS 2
#include "adders.cuh"
#include "axial_path.cuh"
#include "axial_runs.cuh"
