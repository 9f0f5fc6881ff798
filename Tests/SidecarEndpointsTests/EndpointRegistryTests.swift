import PosternTestSupport
import SidecarAccess
import SidecarEndpoints
import Testing

@Suite("EndpointRegistry")
struct EndpointRegistryTests {
}
