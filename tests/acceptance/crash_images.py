"""What a crash may leave of recorded calls (record_files.c), and whether what was said to be saved is there:
crash_images.py LOCKSTEP FOLDER IMAGES [without part|manifest|folder|parent] LOG...

A file has the bytes that it was synced with, and of those written since any part; a folder the names of its last sync, and of the changes
since any. A link that fails for another file system, as of job.json, is no part of it. With `without` syncs of that kind do not count:
then an image must be found that lacks what was said, or the test could not find such a writer."""
import json, os, random, re, shutil, subprocess, sys


class File:
    def __init__(self): self.synced, self.now, self.writes = b"", bytearray(), []
    def write(self, offset, data):
        self.now.extend(bytes(max(0, offset + len(data) - len(self.now))))
        self.now[offset:offset + len(data)] = data
        self.writes.append((offset, data))
    def sync(self): self.synced, self.writes = bytes(self.now), []
    def left(self, how, dice):
        got = bytearray(self.synced)
        for offset, data in self.writes:
            keep = {"killed": len(data), "synced": 0, "names": 0}.get(how, dice.choice([0, len(data), dice.randrange(len(data) + 1) // 512 * 512]))
            size = offset + (len(data) if how != "synced" and dice.random() < .5 else keep)
            if size > len(got): got.extend(bytes(size - len(got)))
            got[offset:offset + keep] = data[:keep]
        return bytes(got)


class Folder:
    def __init__(self): self.synced, self.now, self.changes = {}, {}, []
    def change(self, **names):
        self.now = self.apply(self.now, names)
        self.changes.append(names)
    @staticmethod
    def apply(at, names):
        at = dict(at)
        for name, what in names.items():
            if what is None: at.pop(name, None)
            else: at[name] = what
        return at
    def sync(self): self.synced, self.changes = dict(self.now), []
    def left(self, how, dice):
        at = self.synced
        for names in self.changes:
            if how in ("killed", "names") or how == "torn" and dice.random() < .5: at = self.apply(at, names)
        return at


def read(logs, root):
    events = []
    for path in logs:
        data, at = open(path, "rb").read(), 0
        while at < len(data):
            end = data.index(b"\n", at)
            time, call, offset, count, name = data[at:end].decode().split(" ", 4)
            at = end + 1 + int(count)
            events.append((int(time), call, int(offset), data[end + 1:at], [os.path.relpath(p, root) for p in name.split("\t")]))
    return sorted(events, key=lambda event: event[0])


class Disk:
    def __init__(self): self.root, self.said, self.whole = Folder(), [], {}
    def find(self, path):
        at = self.root
        for name in path.split("/"):
            if name != ".": at = at.now.get(name) if isinstance(at, Folder) else None
        return at
    def above(self, path):
        above, _, name = path.rpartition("/")
        return self.find(above or "."), name
    def run(self, event, without):
        _, call, offset, data, (path, *to) = event
        if call == "say":
            for step in re.findall(rb"saved .*/step_0*(\d+) ", data): self.said.append(int(step))
            return
        if path.startswith("..") or call == "mkdir" and path == ".": return
        folder, name = self.above(path)
        if folder is None: return
        there = self.find(path)
        if call in ("create", "touch"):
            if there is None or call == "create": folder.change(**{name: File()})
        elif call == "mkdir": folder.change(**{name: Folder()})
        elif call == "write" and there: there.write(offset, data)
        elif call == "append" and there: there.write(len(there.now), data)
        elif call == "sync" and there:
            kind = "manifest" if name == "manifest.json" else "part" if name.startswith("part-") else "parent" if path == "." else "folder"
            if kind != without: there.sync()
        elif call == "rename" and there:
            folder.change(**{name: None, to[0].rpartition("/")[2]: there})
            if re.fullmatch(r"step_\d+", to[0]): self.whole[int(to[0][5:])] = self.content(there)
        elif call == "remove": folder.change(**{name: None})
    @staticmethod
    def content(folder): return {n: bytes(f.now) for n, f in folder.now.items() if isinstance(f, File) and n != "job.json"}


def put(folder, path, how, dice):
    os.mkdir(path)
    for name, what in folder.left(how, dice).items():
        at = path + "/" + name
        if isinstance(what, Folder): put(what, at, how, dice)
        else: open(at, "wb").write(what.left(how, dice))


def judge(lockstep, disk, path):
    """None, or what is wrong."""
    listed = subprocess.run([lockstep, "checkpoint", "list", path, "--json"], capture_output=True).stdout  # empty: there are none
    states = {c["step"]: c["state"] for c in json.loads(listed or '{"checkpoints": []}')["checkpoints"] if os.path.basename(c["path"]) == "step_%08d" % c["step"]}
    def is_right(step):
        at = "%s/step_%08d/" % (path, step)
        return all(os.path.exists(at + n) and open(at + n, "rb").read() == data for n, data in disk.whole[step].items())
    # A killed run may not have come to say a newer one, beyond which older ones go.
    if disk.said and not any(step >= disk.said[-1] and state == "whole" and step in disk.whole and is_right(step) for step, state in states.items()):
        return "step %d was said to be saved, and is %s" % (disk.said[-1], states.get(disk.said[-1], "not there"))
    for step, state in states.items():
        if state != "whole" or step in disk.whole and is_right(step): continue
        if subprocess.run([lockstep, "checkpoint", "verify", "%s/step_%08d" % (path, step)], capture_output=True).returncode == 0:
            return "step %d is called whole, and is not what was written" % step
    return None


lockstep, root, images, *logs = sys.argv[1:]
without = None
if logs[0] == "without": without, logs = logs[1], logs[2:]
events = read(logs, root)
images, dice = int(images), random.Random(35)
points = sorted(dice.choices(range(len(events) + 1), k=images))
hows = ["killed", "synced", "names", "torn"]
disk, done, found = Disk(), 0, None
for number, point in enumerate(points):
    while done < point: disk.run(events[done], without); done += 1
    shutil.rmtree("image", ignore_errors=True)
    put(disk.root, "image", hows[number % 4], dice)
    wrong = judge(lockstep, disk, "image")
    if wrong and without: found = wrong; break
    if wrong: sys.exit("after call %d of %d, %s: %s" % (point, len(events), hows[number % 4], wrong))
if without and not found: sys.exit("a writer without the sync of %s was not found in %d images" % (without, images))
print("without the sync of %s: %s" % (without, found) if without else "%d images of %d calls, %d saves" % (images, len(events), len(disk.said)))
