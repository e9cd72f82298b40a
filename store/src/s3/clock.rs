//! The server's clock is read off the answers of the SDK.

use std::time::Instant;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::DateTime;
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::date_time::Format;

use crate::clock::Clock;

impl Intercept for Clock {
    fn name(&self) -> &'static str {
        "the server's clock"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let answer = context.response();
        let date = answer.headers().get("date").filter(|_| answer.status().is_success());
        if let Some(Ok(time)) = date.map(|date| DateTime::from_str(date, Format::HttpDate)) {
            self.tell(time.secs(), Instant::now());
        }
        Ok(())
    }
}
