import CPosternCurl
import CPosternLinux
import Glibc
import PosternSupport

/// libcurl's multi handle: made before the thread starts, then used and cleaned up by the thread alone, except for
/// the wake-up.
///
/// It waits for libcurl's descriptors with epoll(7) and passes on what is ready (`curl_multi_socket_action`): the cost
/// of an iteration is that of the transfers that can move on, not of all that are open. libcurl has a connection
/// watched while it is in use; an established one stays watched in between, which saves two system calls for each
/// exchange.
// Sendable because the pointer never changes, the wake-up is a descriptor that any thread may write, and the loop
// cleans up only after the last waker has left; everything else is used by the loop's thread alone.
final class MultiHandle: @unchecked Sendable {
  private let pointer: UnsafeMutableRawPointer
  private let events: CInt
  private let wakeup: CInt
  /// What is known of a descriptor.
  private struct Socket {
    /// What it is watched for; nil: it is not.
    var watchedFor: UInt32?
    /// Whether libcurl has an interest in it now.
    var isUsed = false
    /// Whether its end is reported by `closed`.
    var isEstablished = false
  }

  /// The sockets by their descriptors, which are small numbers.
  private var sockets: [Socket] = []
  /// The events of the last wait that were not passed on yet.
  private var ready: [clinux_event]
  private var readyCount = 0
  /// A connection attempt may have ended, or a transfer has failed as it was resumed. libcurl 7.88 goes on only when it
  /// looks at the transfer again, and has nothing watched and no timer for that.
  var mustLookAtAll = false
  /// When libcurl's next timer is due; nil: it has none.
  private var timer: MonotonicInstant?

  private static let clock = SystemClock()
  private static let eventsPerIteration: CInt = 64
  private static let wakeupToken = UInt64.max

  init(configuration: CurlTransport.Configuration) throws(CurlTransport.StartError) {
    guard let pointer = curl_multi_init() else { throw CurlTransport.StartError("libcurl gives no multi handle") }
    self.pointer = pointer
    events = clinux_events_open()
    wakeup = clinux_wakeup_open()
    ready = Array(repeating: clinux_event(), count: Int(Self.eventsPerIteration))
    guard events >= 0, wakeup >= 0,
      clinux_events_change(events, CLINUX_WATCH, wakeup, UInt32(CLINUX_READABLE), Self.wakeupToken) == 0
    else {
      cleanUp()
      throw CurlTransport.StartError("no descriptor for the transport's wake-up")
    }
    let pipelining = configuration.multiplexesHTTP2 ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING
    let bound = Self.bound(configuration.maxConnections)
    let options: [(CURLMoption, Int)] = [
      (CURLMOPT_MAX_TOTAL_CONNECTIONS, bound),
      (CURLMOPT_MAX_HOST_CONNECTIONS, Self.bound(configuration.maxConnectionsPerHost)),
      // The same: a lower one would close connections that are in use as soon as their exchange ends.
      (CURLMOPT_MAXCONNECTS, bound),
      (CURLMOPT_PIPELINING, Int(pipelining)),
    ]
    for (option, value) in options {
      let code = postern_curl_multi_set_long(pointer, option, value)
      if code != CURLM_OK {
        cleanUp()
        throw CurlTransport.StartError("libcurl rejects multi option \(option.rawValue)")
      }
    }
    attach()
  }

  /// libcurl takes zero for no bound.
  private static func bound(_ value: Int) -> Int { min(max(1, value), Int(Int32.max)) }

  /// Ends the wait under way, or the next one. From any thread.
  func wakeUp() { clinux_wakeup_signal(wakeup) }

  // MARK: - The loop's thread only

  func add(_ easy: UnsafeMutableRawPointer) -> Bool { curl_multi_add_handle(pointer, easy) == CURLM_OK }

  func remove(_ easy: UnsafeMutableRawPointer) { curl_multi_remove_handle(pointer, easy) }

  /// Moves the transfers on that are ready, or whose timer is due, as far as they go without waiting.
  func perform() -> Bool {
    var isWell = true
    for event in ready[..<readyCount] {
      if event.token == Self.wakeupToken {
        clinux_wakeup_clear(wakeup)
      } else {
        let descriptor = curl_socket_t(truncatingIfNeeded: event.token)
        if sockets[Int(descriptor)].isUsed {
          isWell = act(descriptor, Self.directions(of: event)) && isWell
        } else {
          // Of an idle connection: libcurl finds it when it is about to use it.
          unwatch(descriptor)
        }
      }
    }
    readyCount = 0
    // A timer that is due at once, as that of a new transfer, may lead to the next.
    for _ in 0..<Self.timersPerIteration {
      guard let due = timer, due <= Self.clock.monotonicNow else { break }
      timer = nil
      isWell = act(CURL_SOCKET_TIMEOUT, 0) && isWell
    }
    if mustLookAtAll {
      mustLookAtAll = false
      var running: Int32 = 0
      isWell = postern_curl_multi_socket_all(pointer, &running) == CURLM_OK && isWell
    }
    return isWell
  }

  /// Waits until something can move on, a wake-up, or at most `milliseconds`.
  func poll(milliseconds: Int32) -> Bool {
    let due = mustLookAtAll ? 0 : timer.map { max(.zero, $0 - Self.clock.monotonicNow).wholeMillisecondsUp } ?? .max
    let count = ready.withUnsafeMutableBufferPointer {
      clinux_events_wait(events, $0.baseAddress, Self.eventsPerIteration, CInt(clamping: min(Int64(milliseconds), due)))
    }
    readyCount = max(0, Int(count))
    return count >= 0
  }

  /// The next finished transfer, each reported once.
  func nextFinished() -> (easy: UnsafeMutableRawPointer, code: CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(pointer, &left) {
      if message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle {
        return (easy, message.pointee.data.result)
      }
    }
    return nil
  }

  /// Closes all connections; the last call.
  func cleanUp() {
    curl_multi_cleanup(pointer)
    for descriptor in [events, wakeup] where descriptor >= 0 { close(descriptor) }
  }

  // MARK: - libcurl's descriptors and timer

  private static let timersPerIteration = 4

  private func attach() {
    let this = Unmanaged.passUnretained(self).toOpaque()
    postern_curl_multi_set_socket(
      pointer,
      { _, descriptor, action, this, _ in
        if let this { Unmanaged<MultiHandle>.fromOpaque(this).takeUnretainedValue().watch(descriptor, action) }
        return 0
      }, this)
    postern_curl_multi_set_timer(
      pointer,
      { _, milliseconds, this in
        if let this { Unmanaged<MultiHandle>.fromOpaque(this).takeUnretainedValue().setTimer(milliseconds) }
        return 0
      }, this)
  }

  private func act(_ descriptor: curl_socket_t, _ directions: Int32) -> Bool {
    var running: Int32 = 0
    return curl_multi_socket_action(pointer, descriptor, directions, &running) == CURLM_OK
  }

  /// libcurl has another interest in a descriptor; `action` is one of CURL_POLL_IN, OUT, INOUT and REMOVE.
  private func watch(_ descriptor: curl_socket_t, _ action: Int32) {
    let index = index(of: descriptor)
    guard action != CURL_POLL_REMOVE else {
      sockets[index].isUsed = false
      if !sockets[index].isEstablished {
        unwatch(descriptor)
        mustLookAtAll = true
      }
      return
    }
    var readiness: UInt32 = 0
    if action & CURL_POLL_IN != 0 { readiness |= UInt32(CLINUX_READABLE) }
    if action & CURL_POLL_OUT != 0 { readiness |= UInt32(CLINUX_WRITABLE) }
    sockets[index].isUsed = true
    let before = sockets[index].watchedFor
    guard before != readiness else { return }
    let token = UInt64(UInt32(bitPattern: descriptor))
    let change = before == nil ? CLINUX_WATCH : CLINUX_REWATCH
    sockets[index].watchedFor = readiness
    // A descriptor that was closed unnoticed is not watched any more, and its number may be another's.
    if clinux_events_change(events, change, descriptor, readiness, token) != 0 {
      let other = change == CLINUX_WATCH ? CLINUX_REWATCH : CLINUX_WATCH
      _ = clinux_events_change(events, other, descriptor, readiness, token)
    }
  }

  private func unwatch(_ descriptor: curl_socket_t) {
    if sockets[Int(descriptor)].watchedFor.take() != nil {
      _ = clinux_events_change(events, CLINUX_UNWATCH, descriptor, 0, 0)
    }
  }

  /// A request is about to go over the connection; `closed` will follow.
  func establish(_ descriptor: curl_socket_t) { sockets[index(of: descriptor)].isEstablished = true }

  /// The established connection is closed.
  func closed(_ descriptor: curl_socket_t) {
    sockets[index(of: descriptor)] = Socket()
  }

  private func index(of descriptor: curl_socket_t) -> Int {
    let index = Int(descriptor)
    while sockets.count <= index { sockets.append(Socket()) }
    return index
  }

  private func setTimer(_ milliseconds: Int) {
    timer = milliseconds < 0 ? nil : Self.clock.monotonicNow + .milliseconds(milliseconds)
  }

  private static func directions(of event: clinux_event) -> Int32 {
    var directions: Int32 = 0
    if event.readiness & UInt32(CLINUX_READABLE) != 0 { directions |= CURL_CSELECT_IN }
    if event.readiness & UInt32(CLINUX_WRITABLE) != 0 { directions |= CURL_CSELECT_OUT }
    // The end of the connection is found by reading it.
    if event.readiness & UInt32(CLINUX_HUNG_UP) != 0 { directions |= CURL_CSELECT_IN | CURL_CSELECT_ERR }
    return directions
  }
}
