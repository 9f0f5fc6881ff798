import CPosternSQLite
import Foundation
import PosternSupport
import PosternTestSupport

/// A virtual file system for SQLite that records what has been synced, and computes the possible contents of a disk
/// after a loss of power: everything synced, and of the rest any part in any order.
///
/// Names are durable at once where SQLite syncs the directory, which it is left to do by itself.
final class PowerLossDisk: @unchecked Sendable {
  // Sendable because everything but the lock is set before SQLite knows the file system.
  enum Operation {
    case write(offset: Int, bytes: [UInt8])
    case truncate(Int)
  }

  struct File {
    var durable: [UInt8] = []
    var pending: [Operation] = []
  }

  struct State {
    var files: [String: File] = [:]
    var operations = 0
    var failAt: Int?
    var image: [String: [UInt8]]?
    var random: SeededGenerator
    var syncs = 0
  }

  let name: String
  let state: Locked<State>
  let original: UnsafeMutablePointer<sqlite3_vfs>
  private let ours: UnsafeMutablePointer<sqlite3_vfs>
  private let cName: UnsafeMutablePointer<CChar>
  /// Runs at the moment the power goes.
  let onFailure: @Sendable () -> Void

  init(seed: UInt64, failAt: Int?, onFailure: @escaping @Sendable () -> Void) {
    name = "power-loss-\(UUID().uuidString)"
    state = Locked(State(failAt: failAt, random: SeededGenerator(seed: seed)))
    original = sqlite3_vfs_find(nil)
    cName = strdup(name)
    ours = .allocate(capacity: 1)
    self.onFailure = onFailure
    ours.initialize(to: original.pointee)
    ours.pointee.szOsFile = Int32(MemoryLayout<Handle>.size) + original.pointee.szOsFile
    ours.pointee.zName = UnsafePointer(cName)
    ours.pointee.pNext = nil
    ours.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
    ours.pointee.xOpen = { vfs, path, file, flags, out in PowerLossDisk.open(vfs, path, file, flags, out) }
    ours.pointee.xDelete = { vfs, path, sync in
      guard let vfs, let path else { return SQLITE_IOERR }
      let disk = PowerLossDisk.disk(vfs)
      disk.state.withLock { $0.files[String(cString: path)] = nil }
      return disk.original.pointee.xDelete(disk.original, path, sync)
    }
    sqlite3_vfs_register(ours, 0)
  }

  deinit {
    sqlite3_vfs_unregister(ours)
    ours.deallocate()
    free(cName)
  }

  /// The contents of the disk after the loss of power, by path.
  var image: [String: [UInt8]]? { state.withLock { $0.image } }

  /// Notes a change; false when there is no power for it.
  func note(_ path: String, _ change: (inout File) -> Void) -> Bool {
    let (alive, failsNow) = state.withLock { state -> (Bool, Bool) in
      guard state.image == nil else { return (false, false) }
      change(&state.files[path, default: File()])
      state.operations += 1
      return (true, state.operations == state.failAt)
    }
    if failsNow { fail() }
    return alive
  }

  /// Cuts the power.
  func fail() {
    // What had returned to callers by now must be in the image.
    onFailure()
    state.withLock { state in
      guard state.image == nil else { return }
      var image: [String: [UInt8]] = [:]
      for (path, file) in state.files.sorted(by: { $0.key < $1.key }) {
        image[path] = Self.survivors(of: file, &state.random)
      }
      state.image = image
    }
  }

  private static func survivors(of file: File, _ random: inout SeededGenerator) -> [UInt8] {
    var bytes = file.durable
    // Writes reach the disk in sectors.
    var operations: [Operation] = []
    for operation in file.pending {
      guard case .write(let offset, let written) = operation else {
        operations.append(operation)
        continue
      }
      var start = offset
      while start < offset + written.count {
        let end = min((start / 512 + 1) * 512, offset + written.count)
        operations.append(.write(offset: start, bytes: Array(written[start - offset..<end - offset])))
        start = end
      }
    }
    switch random.next() % 4 {
    case 0: operations = []
    case 1: operations = Array(operations.prefix(Int(random.next() % UInt64(operations.count + 1))))
    case 2: operations = operations.filter { _ in random.next() % 2 == 0 }
    default: operations = operations.filter { _ in random.next() % 4 != 0 }.shuffled(using: &random)
    }
    for operation in operations {
      switch operation {
      case .truncate(let size): bytes = Array(bytes.prefix(size))
      case .write(let offset, let written):
        if bytes.count < offset + written.count {
          bytes += [UInt8](repeating: 0, count: offset + written.count - bytes.count)
        }
        bytes.replaceSubrange(offset..<offset + written.count, with: written)
      }
    }
    return bytes
  }

  static func apply(_ file: inout File) {
    for operation in file.pending {
      switch operation {
      case .truncate(let size): file.durable = Array(file.durable.prefix(size))
      case .write(let offset, let written):
        if file.durable.count < offset + written.count {
          file.durable += [UInt8](repeating: 0, count: offset + written.count - file.durable.count)
        }
        file.durable.replaceSubrange(offset..<offset + written.count, with: written)
      }
    }
    file.pending = []
  }
}

// MARK: - SQLite's side

extension PowerLossDisk {
  /// The members before SQLite's own file structure.
  struct Handle {
    var file: sqlite3_file
    var disk: UnsafeMutableRawPointer
    var path: UnsafeMutablePointer<CChar>
    var reserved: Int
  }

  static func disk(_ vfs: UnsafeMutablePointer<sqlite3_vfs>) -> PowerLossDisk {
    Unmanaged<PowerLossDisk>.fromOpaque(vfs.pointee.pAppData).takeUnretainedValue()
  }

  private static func real(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<sqlite3_file> {
    UnsafeMutableRawPointer(file).advanced(by: MemoryLayout<Handle>.size).assumingMemoryBound(to: sqlite3_file.self)
  }

  private static func handle(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<Handle> {
    UnsafeMutableRawPointer(file).assumingMemoryBound(to: Handle.self)
  }

  private static func disk(of file: UnsafeMutablePointer<sqlite3_file>) -> (PowerLossDisk, String) {
    let handle = handle(file).pointee
    return (
      Unmanaged<PowerLossDisk>.fromOpaque(handle.disk).takeUnretainedValue(), String(cString: handle.path)
    )
  }

  static func open(
    _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?,
    _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ out: UnsafeMutablePointer<Int32>?
  ) -> Int32 {
    guard let vfs, let file, let path else { return SQLITE_CANTOPEN }
    let disk = disk(vfs)
    handle(file).pointee.file.pMethods = nil
    let code = disk.original.pointee.xOpen(disk.original, path, real(file), flags, out)
    guard code == SQLITE_OK else { return code }
    handle(file).initialize(
      to: Handle(
        file: sqlite3_file(pMethods: methods), disk: Unmanaged.passUnretained(disk).toOpaque(), path: strdup(path),
        reserved: 0))
    let name = String(cString: path)
    disk.state.withLock { state in
      guard state.files[name] == nil else { return }
      let bytes = (try? Data(contentsOf: URL(fileURLWithPath: name))).map { Array($0) } ?? []
      state.files[name] = File(durable: bytes)
    }
    return SQLITE_OK
  }

  /// Version 1: no shared memory and no mapping, which the store does without.
  private nonisolated(unsafe) static let methods: UnsafePointer<sqlite3_io_methods> = {
    var methods = sqlite3_io_methods()
    methods.iVersion = 1
    methods.xClose = { file in
      guard let file else { return SQLITE_IOERR }
      free(PowerLossDisk.handle(file).pointee.path)
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xClose(PowerLossDisk.real(file))
    }
    methods.xRead = { file, bytes, count, offset in
      guard let file else { return SQLITE_IOERR }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xRead(PowerLossDisk.real(file), bytes, count, offset)
    }
    methods.xWrite = { file, bytes, count, offset in
      guard let file, let bytes else { return SQLITE_IOERR }
      let (disk, path) = PowerLossDisk.disk(of: file)
      let copy = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
      guard disk.note(path, { $0.pending.append(.write(offset: Int(offset), bytes: copy)) }) else {
        return SQLITE_IOERR
      }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xWrite(PowerLossDisk.real(file), bytes, count, offset)
    }
    methods.xTruncate = { file, size in
      guard let file else { return SQLITE_IOERR }
      let (disk, path) = PowerLossDisk.disk(of: file)
      guard disk.note(path, { $0.pending.append(.truncate(Int(size))) }) else { return SQLITE_IOERR }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xTruncate(PowerLossDisk.real(file), size)
    }
    methods.xSync = { file, flags in
      guard let file else { return SQLITE_IOERR }
      let (disk, path) = PowerLossDisk.disk(of: file)
      let alive = disk.note(path) { PowerLossDisk.apply(&$0) }
      disk.state.withLock { $0.syncs += 1 }
      // The real disk need not be troubled.
      return alive ? SQLITE_OK : SQLITE_IOERR
    }
    methods.xFileSize = { file, size in
      guard let file else { return SQLITE_IOERR }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xFileSize(PowerLossDisk.real(file), size)
    }
    methods.xLock = { file, level in
      guard let file else { return SQLITE_IOERR }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xLock(PowerLossDisk.real(file), level)
    }
    methods.xUnlock = { file, level in
      guard let file else { return SQLITE_IOERR }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xUnlock(PowerLossDisk.real(file), level)
    }
    methods.xCheckReservedLock = { file, out in
      guard let file else { return SQLITE_IOERR }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xCheckReservedLock(PowerLossDisk.real(file), out)
    }
    methods.xFileControl = { file, operation, argument in
      guard let file else { return SQLITE_IOERR }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xFileControl(
        PowerLossDisk.real(file), operation, argument)
    }
    methods.xSectorSize = { file in
      guard let file else { return 512 }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xSectorSize(PowerLossDisk.real(file))
    }
    methods.xDeviceCharacteristics = { file in
      guard let file else { return 0 }
      return PowerLossDisk.real(file).pointee.pMethods.pointee.xDeviceCharacteristics(PowerLossDisk.real(file))
    }
    let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    pointer.initialize(to: methods)
    return UnsafePointer(pointer)
  }()
}
