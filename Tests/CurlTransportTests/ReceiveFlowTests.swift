import CPosternCurl
import HTTPMessages
import PosternSupport
import Testing

@testable import CurlTransport

@Suite("The paused directions of a transfer")
struct ReceiveFlowTests {
  private let now = MonotonicInstant(nanoseconds: 0)

  @Test("a transfer without a body to send stays paused in that direction after it was suspended")
  func suspended() {
    var flow = ReceiveFlow()
    let control = TransferControl()
    #expect(flow.change(for: control) == nil)
    control.pause(at: now)
    #expect(flow.change(for: control) == CURLPAUSE_ALL)
    control.resume(at: now)
    #expect(flow.change(for: control) == CURLPAUSE_CONT)
  }

  @Test("a transfer that waits for its body is resumed before there is any, or not when there is")
  func waiting() async {
    var flow = ReceiveFlow()
    let control = TransferControl()
    control.beginUpload()
    flow.pauseSending()
    #expect(flow.change(for: control) == nil)
    control.pause(at: now)
    #expect(flow.change(for: control) == CURLPAUSE_ALL)
    control.resume(at: now)
    #expect(flow.change(for: control) == CURLPAUSE_SEND)
    #expect(await control.upload([1]))
    #expect(flow.change(for: control) == CURLPAUSE_CONT)
    #expect(flow.change(for: control) == nil)
  }
}
