#pragma once

// What nearly every test includes beside the standard library.

#include "cmake/precompiled.hpp"

#include <gtest/gtest.h>

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/sync/interprocess_semaphore.hpp>

#include <filesystem>
#include <fstream>
#include <set>
