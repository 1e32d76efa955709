"""What /proc/cpuinfo says decides how llama.cpp is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.cpu import Cpu, cmake_options, parse_cpuinfo, read_cpu

SAPPHIRE_RAPIDS = """\
processor	: 0
vendor_id	: GenuineIntel
cpu family	: 6
model		: 143
model name	: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz
stepping	: 8
flags		: fpu sse sse2 ssse3 fma sse4_1 sse4_2 avx f16c bmi1 avx2 bmi2 avx512f avx512dq \
avx512ifma avx512cd avx512bw avx512vl avx_vnni avx512_bf16 avx512vbmi avx512_vbmi2 avx512_vnni \
avx512_fp16 amx_bf16 amx_tile amx_int8 arch_capabilities

processor	: 1
flags		: fpu
"""
ZEN_4 = """\
processor	: 0
vendor_id	: AuthenticAMD
cpu family	: 25
model		: 97
model name	: AMD Ryzen 9 7950X 16-Core Processor
flags		: fpu sse sse2 ssse3 fma sse4_1 sse4_2 avx f16c bmi1 avx2 bmi2 avx512f avx512dq \
avx512ifma avx512cd avx512bw avx512vl avx512_bf16 avx512vbmi avx512_vbmi2 avx512_vnni sse4a
"""
HASWELL = """\
processor	: 0
vendor_id	: GenuineIntel
cpu family	: 6
model		: 60
flags		: fpu sse sse2 ssse3 fma sse4_1 sse4_2 avx f16c bmi1 avx2 bmi2
"""
CORTEX_A76 = """\
processor	: 0
BogoMIPS	: 108.00
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm dcpop
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x4
CPU part	: 0xd0b
"""


def cpu(text: str) -> Cpu:
    return parse_cpuinfo(text.splitlines())


def test_on_a_cpu_with_amx_every_other_instruction_set_is_named() -> None:
    assert cmake_options(cpu(SAPPHIRE_RAPIDS).features) == {
        "GGML_NATIVE": "OFF",
        "GGML_SSE42": "ON",
        "GGML_AVX": "ON",
        "GGML_AVX2": "ON",
        "GGML_FMA": "ON",
        "GGML_F16C": "ON",
        "GGML_BMI2": "ON",
        "GGML_AVX_VNNI": "ON",
        "GGML_AVX512": "ON",
        "GGML_AVX512_VBMI": "ON",
        "GGML_AVX512_VNNI": "ON",
        "GGML_AVX512_BF16": "ON",
    }


def test_a_set_that_a_virtual_machine_hides_is_switched_off() -> None:
    hidden = {"avx512_bf16", "avx512vl"}
    options = cmake_options(cpu(SAPPHIRE_RAPIDS).features - hidden)
    assert [name for name, value in options.items() if value == "OFF"] == [
        "GGML_NATIVE",
        "GGML_AVX512",
        "GGML_AVX512_BF16",
    ]


@pytest.mark.parametrize("text", [ZEN_4, HASWELL, CORTEX_A76], ids=["zen4", "avx2", "arm"])
def test_without_amx_the_compiler_takes_what_the_cpu_has(text: str) -> None:
    assert cmake_options(cpu(text).features) == {"GGML_NATIVE": "ON"}


def test_only_the_first_core_is_read() -> None:
    assert "avx2" in cpu(SAPPHIRE_RAPIDS).features


def test_a_flag_that_a_new_kernel_adds_is_no_other_machine() -> None:
    newer = ZEN_4.replace("flags\t\t:", "flags\t\t: flush_l1d ibpb_no_ret")
    assert cpu(newer).identity() == cpu(ZEN_4).identity()


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (ZEN_4, " avx512_vnni", ""),
        (ZEN_4, "model\t\t: 97", "model\t\t: 68"),
        (CORTEX_A76, " asimdrdm", ""),
        (CORTEX_A76, "0xd0b", "0xd40"),
    ],
)
def test_other_instructions_or_another_model_are_another_machine(
    text: str, old: str, new: str
) -> None:
    assert old in text
    assert cpu(text.replace(old, new)).identity() != cpu(text).identity()


def test_a_system_without_cpuinfo_builds_natively(tmp_path: Path) -> None:
    found = read_cpu(tmp_path / "cpuinfo")
    assert cmake_options(found.features) == {"GGML_NATIVE": "ON"}
