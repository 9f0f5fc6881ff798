import AuthEngine
import PosternProtocol

extension PolicyAdviceDescription {
  /// The engine's advice as it goes over the wire.
  init(_ advice: PolicyAdvice) {
    self.init(type: advice.type)
    if advice.type != PolicyAdvice.Name.insufficientUserAuthentication { value = advice.value }
    txId = advice.txId
    if advice.isCompositeAdvice {
      authIndexType = "composite_advice"
      authIndexValue = CompositeAdvice.xml([advice])
    }
    realm = advice.realm
    acrValues = advice.acrValues
    maxAge = advice.maxAge
  }
}
