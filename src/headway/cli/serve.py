"""`headway serve`: a real model under the same policies; and, with --check, whether it would start."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.console import out, write_json
from headway.cli.options import JsonOption, PoolsOption, ReserveOption, parse_number, parse_whole
from headway.cli.own_orders import own_orders
from headway.cli.paths import check_apart, json_output
from headway.cli.tables import plain_table
from headway.core.cost import Steps
from headway.core.errors import InvalidInput
from headway.serve.config import LEVELS, Config, config_of, shown

DEFAULT_MODEL = "SmolLM2-135M-Instruct"

ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="FILE", help="A TOML file with all of these; options go before it.", show_default=False
    ),
]
CheckOption = Annotated[
    bool, typer.Option("--check", help="Check configuration, tenants file and policy, print them, and do not start.")
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="FILE|ID",
        help="A GGUF file, or a model on the hub as owner/repo or owner/repo:FILE.gguf.",
        show_default=DEFAULT_MODEL,
    ),
]
HostOption = Annotated[
    str | None, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.", show_default=Config.host)
]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--port",
        parser=parse_whole,
        metavar="N",
        help="Port to listen on; 0 takes a free one.",
        show_default=str(Config.port),
    ),
]
TenantsOption = Annotated[
    str | None,
    typer.Option(
        "--tenants",
        metavar="FILE",
        help="A tenants file (TOML): keys, limits, promises and weights of the clients.",
        show_default=False,
    ),
]
NoAuthOption = Annotated[
    bool, typer.Option("--no-auth", help="Ask nobody for an API key; only on 127.0.0.1, ::1 and localhost.")
]
BodyOption = Annotated[
    int | None,
    typer.Option(
        "--max-body-bytes",
        parser=parse_whole,
        metavar="N",
        help="The most bytes of a request.",
        show_default=str(Config.max_body_bytes),
    ),
]
StopOption = Annotated[
    float | None,
    typer.Option(
        "--stop-seconds",
        parser=parse_number,
        metavar="S",
        help="Time for running requests to finish, when the server is told to stop.",
        show_default=f"{Config.stop_seconds:g}",
    ),
]
LogOption = Annotated[
    str | None,
    typer.Option("--log-level", metavar="LEVEL", help=f"One of {', '.join(LEVELS)}.", show_default=Config.log_level),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy", metavar="SPEC", help="The order, or an own order as my_module:MyOrder.", show_default=Config.policy
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SPEC",
        help="The memory rule, such as past-future(reserve=0.1).",
        show_default="the engine's",
    ),
]
ShedOption = Annotated[
    str | None,
    typer.Option(
        "--shed", metavar="SPEC", help="Who is turned away or put back, such as reject.", show_default=Config.shed
    ),
]
EvictOption = Annotated[
    str | None,
    typer.Option("--evict", metavar="SPEC", help="Who gives way when memory runs out.", show_default=Config.evict),
]
PrefillShareOption = Annotated[
    float | None,
    typer.Option(
        "--prefill-share",
        parser=parse_number,
        metavar="S",
        help="Share of the positions guaranteed to prompts while one waits half filled; decodes pause for it.",
        show_default=f"{Config.prefill_share:g}",
    ),
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(
        "--threads", parser=parse_whole, metavar="N", help="Threads that compute.", show_default="all processors"
    ),
]
KvOption = Annotated[
    int | None,
    typer.Option(
        "--kv-tokens",
        parser=parse_whole,
        metavar="N",
        help="Tokens that the KV cache holds.",
        show_default=str(Config.kv_tokens),
    ),
]
SlotsOption = Annotated[
    int | None,
    typer.Option(
        "--slots",
        parser=parse_whole,
        metavar="N",
        help="The most requests that hold KV at once.",
        show_default=str(Config.slots),
    ),
]
BudgetOption = Annotated[
    int | None,
    typer.Option(
        "--token-budget",
        parser=parse_whole,
        metavar="N",
        help="The most positions in one iteration.",
        show_default=str(Config.token_budget),
    ),
]


def serve(
    *,
    config: ConfigOption = None,
    check: CheckOption = False,
    model: ModelOption = None,
    host: HostOption = None,
    port: PortOption = None,
    tenants: TenantsOption = None,
    no_auth: NoAuthOption = False,
    max_body_bytes: BodyOption = None,
    stop_seconds: StopOption = None,
    log_level: LogOption = None,
    policy: PolicyOption = None,
    memory: MemoryOption = None,
    shed: ShedOption = None,
    evict: EvictOption = None,
    prefill_share: PrefillShareOption = None,
    pools: PoolsOption = None,
    reserve: ReserveOption = None,
    threads: ThreadsOption = None,
    kv_tokens: KvOption = None,
    slots: SlotsOption = None,
    token_budget: BudgetOption = None,
    json: JsonOption = None,
) -> None:
    """Serve a model behind the OpenAI API, under the policies of compare.

    Example: headway serve --policy "qba(k=3)" --shed reject --tenants clients.toml
    """
    given: dict[str, object | None] = {
        "model": model,
        "host": host,
        "port": port,
        "tenants": tenants,
        "auth": False if no_auth else None,
        "max_body_bytes": max_body_bytes,
        "stop_seconds": stop_seconds,
        "log_level": log_level,
        "policy": policy,
        "memory": memory,
        "shed": shed,
        "evict": evict,
        "prefill_share": prefill_share,
        "pools": pools,
        "reserve": reserve,
        "threads": threads,
        "kv_tokens": kv_tokens,
        "slots": slots,
        "token_budget": token_budget,
    }
    target = json_output(json)
    if target is not None and not check:
        raise InvalidInput("--json writes what --check found; give --check too")
    if config is not None and not config:
        raise InvalidInput("--config is empty; expected a TOML file")
    check_apart((config, tenants), {"--json": target})
    told = config_of(
        None if config is None else Path(config), {key: value for key, value in given.items() if value is not None}
    )
    with own_orders([told.policy]):
        told.check()
    if not check:
        raise typer.Exit(_run(told))
    if target is not None:
        write_json(_plain(told), target)
    else:
        _print_checked(told)


def _run(config: Config) -> int:
    """Start the server; return the exit status with which it ended."""
    try:
        from headway.serve.run import run  # noqa: PLC0415 - only serving needs the extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "headway":
            raise
        raise InvalidInput(
            f'serving needs {error.name}, which is not installed; install it with: pip install "headway[serve]"'
        ) from None
    return run(config)


def _plain(config: Config) -> dict[str, Any]:
    """Return the configuration as data, keys as in its file."""
    top = shown(config)
    values = {**top.pop(""), **top}
    return {
        **values,
        "tenants": None if config.tenants is None else str(config.tenants),
        "auth": config.keys_required,
    }


def _print_checked(config: Config) -> None:
    """Print what holds, a line a key."""
    rows: list[tuple[str, str, str]] = []
    for section, keys in shown(config).items():
        heads = [f"[{section}]" if section else "", *[""] * len(keys)]
        rows += [
            (head, key, _value(key, value, config)) for head, (key, value) in zip(heads, keys.items(), strict=False)
        ]
    out.print(plain_table(("section", "key", "value"), rows, wrap=(2,)))
    out.print("This can be served.", style="dim")


def _value(key: str, value: object, config: Config) -> str:
    """Return what holds for a key, in words where the value alone does not say it."""
    if key == "auth":
        return "every request brings a key" if config.keys_required else "nobody brings a key"
    if key == "tenants" and (file := config.read_tenants()) is not None:
        return f"{value} (tenants: {len(file.tenants):,}, keys: {sum(len(one.keys) for one in file.tenants):,})"
    if key == "model" and value is None:
        return DEFAULT_MODEL
    if key == "memory":
        return str(config.make_policy().memory_on(config.make_engine("serve", Steps(1.0))))
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
