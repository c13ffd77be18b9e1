"""A SLURM of one node on loopback: munged, slurmctld and slurmd, started as root in a folder of their own."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from batches import wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")

CONFIG = """
ClusterName=neurofs
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=10
InactiveLimit=0
KillWait=2
MinJobAge=2
JobRequeue=0
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0
NodeName={host} NodeAddr=127.0.0.1 NodeHostname={host} CPUs=4 RealMemory=16000 State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def find_missing() -> list[str]:
    """Return the programs of SLURM that this machine lacks."""
    return [name for name in PROGRAMS if shutil.which(name, path=_search_path()) is None]


def _search_path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


class Slurm:
    """A running SLURM; `environment` lets commands find it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = socket.gethostname().split(".")[0]
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": _search_path()}
        self._daemons: dict[str, subprocess.Popen] = {}

    def start(self) -> None:
        """Write the settings and start everything."""
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        ports = dict(zip(("controller", "node"), _find_ports(2), strict=True))
        (self.folder / "slurm.conf").write_text(CONFIG.format(host=self.host, folder=self.folder, **ports))
        files = [f"--{kind}-file={self.folder}/munge.{kind}" for kind in ("key", "pid", "log", "seed")]
        self._start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *files)
        wait_for((self.folder / "munge.socket").exists)
        self._start("slurmctld", "-D", "-i")
        self.start_node()

    def start_node(self) -> None:
        """Start the daemon of the node and wait until it takes jobs."""
        self._start("slurmd", "-D", "-N", self.host)
        wait_for(lambda: "idle" in self.ask("sinfo", "-h", "-o", "%t") or "mix" in self.ask("sinfo", "-h", "-o", "%t"))

    def crash_node(self) -> None:
        """Take the power from the node: its daemon and all of its jobs are gone at once."""
        daemon = self._daemons.pop("slurmd")
        for pid in self.find_job_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        daemon.kill()
        daemon.wait()

    def find_job_processes(self) -> list[int]:
        """Return the processes of jobs: those that have a number of a job of this SLURM in their environment."""
        marks = (b"SLURM_JOB_ID=", f"SLURM_CONF={self.folder}/slurm.conf".encode())
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                content = (place / "environ").read_bytes()
                stepd = b"slurmstepd" in (place / "cmdline").read_bytes() and marks[1] in content
                if stepd or (marks[0] in content and marks[1] in content):
                    found.append(int(place.name))
        return found

    def jobs(self) -> list[str]:
        """Return the numbers of the jobs that wait or run."""
        return self.ask("squeue", "-h", "-o", "%i", "-t", "PD,R,CG,S,CF").split()

    def running_jobs(self) -> list[str]:
        """Return the numbers of the jobs that run."""
        return self.ask("squeue", "-h", "-o", "%i", "-t", "R").split()

    def ask(self, *command: str) -> str:
        """Return what a command of SLURM prints."""
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60).stdout

    def stop(self) -> None:
        """End all jobs and daemons."""
        self.ask("scancel", "--user=root")
        with suppress(TimeoutError):
            wait_for(lambda: not self.jobs(), 10)
        for pid in self.find_job_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for daemon in reversed(list(self._daemons.values())):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _start(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as log:
            program = shutil.which(name, path=_search_path())
            self._daemons[name] = subprocess.Popen(
                [str(program), *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.environment
            )


@contextmanager
def start_slurm(folder: Path) -> Iterator[Slurm]:
    """Yield a SLURM that ends with this."""
    slurm = Slurm(folder)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()


def _find_ports(n: int) -> list[int]:
    sockets = [socket.socket() for _ in range(n)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
